// The HTML document that all pages share: frame, language switch, safe text and stylesheet.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LANGUAGES, LANGUAGE_NAMES, LANGUAGE_TAGS, type Language, inLanguage } from './language.ts';

/** A page without what every page has. */
interface PageParts {
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

/** Text that is safe in HTML, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

// Embeddings, overrides and isolates, and what has no width. Direction marks and joiners stay: Arabic, Hebrew, Persian and emoji are written with them.
const UNSEEN = /[\u00AD\u180E\u200B\u202A-\u202E\u2060-\u206F\uFEFF]/g;

/** Text of a merchant without marks that reorder it or are not seen, so that it says what it looks like. */
export function plainSight(text: string): string {
  return text.replace(UNSEEN, '');
}

/** Text of a merchant in HTML, isolated: it is read in its own direction, and nothing beside it is moved. */
export function merchantHtml(text: string): string {
  return `<bdi>${escapeHtml(plainSight(text))}</bdi>`;
}

/** A sentence in HTML; what stands between backticks is code. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** The address when it is one that a browser may be sent to (http or https), else undefined. */
export function webAddress(text: string | null | undefined): URL | undefined {
  const url = text ? URL.parse(text) : null;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

const parts = ['palette', 'top', 'card', 'guide'] as const;

/** The one style of every page of the service: colours for light and dark, the payer's card, the guides. */
export const STYLESHEET = parts.map(readPart).join('\n');

/** Colours and what all pages have; the simulator begins its own style with it. */
export const PALETTE = readPart('palette');

/** The style of the API explorer over that of Swagger UI; only the build asks for it. */
export function explorerStyle(): string {
  return [PALETTE, ...(['top', 'explorer', 'operations'] as const).map(readPart)].join('\n');
}

/** Where the style is served: below `/pay/`, which payers can always reach. Another text has another address. */
export const STYLE_PATH = '/pay/assets/pages.css';

/** Its address in a page: another style has another one, so a browser may keep it for ever. */
const STYLE_ADDRESS = `${STYLE_PATH}?v=${digestOf(STYLESHEET)}`;

/** A short digest for the address of a file that may be kept for ever. */
export function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

function readPart(name: (typeof parts)[number] | 'explorer' | 'operations'): string {
  return readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8');
}
