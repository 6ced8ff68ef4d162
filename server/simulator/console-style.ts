import { readFileSync } from 'node:fs';
import { digestOf } from '../pages/stylesheet.ts';

/** What the page that controls the simulator has beside the style of all pages. */
export const CONSOLE_STYLE = readFileSync(new URL('console.css', import.meta.url), 'utf8');

/** Where it is served. */
export const CONSOLE_STYLE_PATH = '/console/console.css';

/** Its address in a page: another style has another one. */
export const CONSOLE_STYLE_ADDRESS = `${CONSOLE_STYLE_PATH}?v=${digestOf(CONSOLE_STYLE)}`;
