// Functions for the HTML of all pages: the whole document, the language links and escaped text. Also the stylesheet.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LANGUAGES, LANGUAGE_NAMES, LANGUAGE_TAGS, type Language, inLanguage } from './language.ts';

interface PageParts {
  language: Language;
  /** Plain text. */
  title: string;
  body: string;
  /** The style of the page; it becomes the class of the body element. */
  look: 'carded' | 'guide' | 'console';
  head?: string;
}

/** Builds the complete HTML document of a page. It contains no inline scripts or styles. */
export function htmlDocument({ language, title, body, look, head = '' }: PageParts): string {
  return `<!doctype html>
<html lang="${LANGUAGE_TAGS[language]}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${STYLE_ADDRESS}">${head}</head>
<body class="${look}">${body}</body>
</html>
`;
}

/** Builds the links to a page in each language. `address` is its URL without the language parameter. */
export function languageSwitch(language: Language, address: string): string {
  const links = LANGUAGES.map((one) =>
    one === language
      ? `<span aria-current="true" lang="${LANGUAGE_TAGS[one]}">${LANGUAGE_NAMES[one]}</span>`
      : `<a rel="alternate" lang="${LANGUAGE_TAGS[one]}" hreflang="${LANGUAGE_TAGS[one]}" href="${escapeHtml(inLanguage(address, one))}">${LANGUAGE_NAMES[one]}</a>`,
  );
  return `<nav class="languages" aria-label="Language / 语言">${links.join('')}</nav>`;
}

/** Escapes text for HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

// Characters that are invisible or change the writing direction: embeddings, overrides, isolates and zero-width
// characters. Direction marks and joiners are not included, because Arabic, Hebrew, Persian and emoji need them.
const UNSEEN = /[\u00AD\u180E\u200B\u202A-\u202E\u2060-\u206F\uFEFF]/g;

/** Removes invisible characters, and characters that change the writing direction, from a merchant's text. */
export function plainSight(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Isolates a merchant's text, so that its writing direction does not rearrange the text around it. */
export function merchantHtml(text: string): string {
  return `<bdi>${escapeHtml(plainSight(text))}</bdi>`;
}

/** Converts a sentence to HTML. Text between backticks becomes code. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** Converts a sentence with links such as `[Errors](/docs/errors)` to HTML; links below `/docs` get the language. */
export function linkedHtml(text: string, language: Language): string {
  return proseHtml(text).replaceAll(
    /\[([^\]]+)\]\(([^)]+)\)/g,
    (_, name: string, href: string) =>
      `<a href="${href.startsWith('/docs') ? inLanguage(href, language) : href}">${name}</a>`,
  );
}

/** Returns the URL if it is http or https, otherwise undefined. */
export function webAddress(text: string | null | undefined): URL | undefined {
  const url = text ? URL.parse(text) : null;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

const parts = ['palette', 'top', 'card', 'guide'] as const;

export const STYLESHEET = parts.map(readPart).join('\n');

/** The first part of the stylesheet of all pages, and of the stylesheet of the API explorer. */
export const PALETTE = readPart('palette');

/** Returns the stylesheet of the API explorer, which is added to that of Swagger UI. Only the build uses it. */
export function explorerStyle(): string {
  return [PALETTE, ...(['top', 'explorer', 'operations'] as const).map(readPart)].join('\n');
}

/** The path of the stylesheet. It is below `/pay/`, because payers can always reach the paths below `/pay/`. */
export const STYLE_PATH = '/pay/assets/pages.css';

const STYLE_ADDRESS = `${STYLE_PATH}?v=${digestOf(STYLESHEET)}`;

/** Returns a short digest of a text. It is part of the URL of a file, so that browsers may cache the file forever. */
export function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

function readPart(name: (typeof parts)[number] | 'explorer' | 'operations'): string {
  return readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8');
}
