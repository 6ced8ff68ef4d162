// The HTML document of all pages: frame, language switch, safe text and stylesheet.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LANGUAGES, LANGUAGE_NAMES, LANGUAGE_TAGS, type Language, inLanguage } from './language.ts';

/** The page-specific parts of a document. */
interface PageParts {
  language: Language;
  /** Plain text. */
  title: string;
  /** HTML of the body. */
  body: string;
  /** The style of the page: a class of the body. */
  look: 'carded' | 'guide' | 'console';
  /** Further HTML for the head. */
  head?: string;
}

/** The complete HTML document of a page, without inline code. */
export function htmlDocument({ language, title, body, look, head = '' }: PageParts): string {
  return `<!doctype html>
<html lang="${LANGUAGE_TAGS[language]}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${STYLE_ADDRESS}">${head}</head>
<body class="${look}">${body}</body>
</html>
`;
}

/** Links to the same page in each language; `address` is the page's own address without a language. */
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

// Embeddings, overrides, isolates and zero-width characters. Direction marks and joiners are kept, because Arabic,
// Hebrew, Persian and emoji need them.
const UNSEEN = /[\u00AD\u180E\u200B\u202A-\u202E\u2060-\u206F\uFEFF]/g;

/** A merchant's text without characters that reorder it or are invisible. */
export function plainSight(text: string): string {
  return text.replace(UNSEEN, '');
}

/** A merchant's text for HTML, isolated so that its writing direction does not rearrange the text around it. */
export function merchantHtml(text: string): string {
  return `<bdi>${escapeHtml(plainSight(text))}</bdi>`;
}

/** A sentence in HTML; text between backticks becomes code. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** The URL if it is http or https, otherwise undefined. */
export function webAddress(text: string | null | undefined): URL | undefined {
  const url = text ? URL.parse(text) : null;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

const parts = ['palette', 'top', 'card', 'guide'] as const;

/** The stylesheet of all pages: colours for light and dark, the payer's card, the guides. */
export const STYLESHEET = parts.map(readPart).join('\n');

/** The part of the stylesheet with colours and common styles; the simulator's stylesheet begins with it. */
export const PALETTE = readPart('palette');

/** The explorer's stylesheet, added to Swagger UI's; only the build uses it. */
export function explorerStyle(): string {
  return [PALETTE, ...(['top', 'explorer', 'operations'] as const).map(readPart)].join('\n');
}

/** Path of the stylesheet: below `/pay/`, which payers can always reach. */
export const STYLE_PATH = '/pay/assets/pages.css';

/** The URL of the stylesheet in pages. It changes with the content, so browsers may cache it forever. */
const STYLE_ADDRESS = `${STYLE_PATH}?v=${digestOf(STYLESHEET)}`;

/** A short digest for the URL of a file that browsers may cache forever. */
export function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

function readPart(name: (typeof parts)[number] | 'explorer' | 'operations'): string {
  return readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8');
}
