import { escapeHtml } from './html.ts';
import { inLanguage, type Language, LANGUAGE_NAMES, LANGUAGE_TAGS, LANGUAGES } from './language.ts';
import { STYLE_ADDRESS } from './stylesheet.ts';

/** A page without what every page has. */
export interface PageParts {
  language: Language;
  /** Plain text. */
  title: string;
  /** What the body consists of: HTML. */
  body: string;
  /** The look of the page: a class of the body. */
  look: 'carded' | 'guide' | 'console';
  /** More for the head: HTML. */
  head?: string;
}

/** The whole document of a page, in its language and without inline code. */
export function htmlDocument({ language, title, body, look, head = '' }: PageParts): string {
  return `<!doctype html>
<html lang="${LANGUAGE_TAGS[language]}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${STYLE_ADDRESS}">${head}</head>
<body class="${look}">${body}</body>
</html>
`;
}

/** Links to a page in each language; `address` is its own, without a language. */
export function languageSwitch(language: Language, address: string): string {
  const links = LANGUAGES.map((one) =>
    one === language
      ? `<span aria-current="true" lang="${LANGUAGE_TAGS[one]}">${LANGUAGE_NAMES[one]}</span>`
      : `<a rel="alternate" lang="${LANGUAGE_TAGS[one]}" hreflang="${LANGUAGE_TAGS[one]}" href="${escapeHtml(inLanguage(address, one))}">${LANGUAGE_NAMES[one]}</a>`,
  );
  return `<nav class="languages" aria-label="Language / 语言">${links.join('')}</nav>`;
}
