import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

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
export const STYLE_ADDRESS = `${STYLE_PATH}?v=${digestOf(STYLESHEET)}`;

/** A short digest for the address of a file that may be kept for ever. */
export function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 12);
}

function readPart(name: (typeof parts)[number] | 'explorer' | 'operations'): string {
  return readFileSync(new URL(`style/${name}.css`, import.meta.url), 'utf8');
}
