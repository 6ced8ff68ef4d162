import { styleText } from 'node:util';

const ESCAPE = '\u001B';

/**
 * Stands for the escape character until the text is written. It is random per process, so that external data cannot
 * contain it. Loading `node:crypto` would take 10 ms at each start, so `Math.random` is used.
 */
const OWN = `\uFDD0${Math.random()}${Math.random()}\uFDD0`;

/** A control sequence that payctl writes itself, such as `[1m`. */
export function ownSequence(sequence: string): string {
  return OWN + sequence;
}

/** Whether a text contains colour codes or other control sequences of payctl. If so, its width is unknown. */
export function isPainted(text: string): boolean {
  return text.includes(OWN);
}

/** One part of a painted text with its preceding control sequence, without the escape character. */
interface PaintedPart {
  sequence: string;
  text: string;
}

/** Splits a text before each control sequence of payctl, e.g. a colour code. */
export function paintedParts(text: string): PaintedPart[] {
  return text.split(OWN).map((part, at) => {
    const sequence = at === 0 ? '' : (/^\[[0-9;?]*[A-Za-z]/.exec(part)?.[0] ?? '');
    return { sequence, text: part.slice(sequence.length) };
  });
}

/** The text for a terminal. Control sequences of payctl stay; control characters in data become e.g. `\u001b`. */
export function forTerminal(text: string): string {
  return text.split(OWN).map(shown).join(ESCAPE);
}

/** Converts writes to terminal text. A character or a line end may be split between two writes. */
export function terminalText(): (written: string | Uint8Array) => string {
  const decoder = new TextDecoder();
  let held = '';
  return (written) => {
    const text = held + (typeof written === 'string' ? written : decoder.decode(written, { stream: true }));
    // The next write decides whether `\r` belongs to a line end.
    held = text.endsWith('\r') ? '\r' : '';
    return forTerminal(held === '' ? text : text.slice(0, -1));
  };
}

/** The text for a pipe or a file. Data stays unchanged, and placeholders become escape characters. */
export function forPipe(text: string): string {
  return text.includes(OWN) ? text.replaceAll(OWN, ESCAPE) : text;
}

// Control characters except tab and line break, reordering marks, zero-width characters except joiners, and the line
// breaks of Unicode.
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /\r(?!\n)|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/g;

/** Makes control characters visible with JSON escapes, so that JSON keeps its meaning. */
export function shown(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const PLAIN = /^[\x20-\x7E]*$/;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** Splits a text into grapheme clusters. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** Display width of one grapheme: 0, 1 or 2. */
export function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** The display width of a text: a wide character counts two columns, a combining mark none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);
}

/** Truncates a text to `width` columns, and ends it with `…`. Characters are never split. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const grapheme of graphemes(text)) {
    const next = used + graphemeWidth(grapheme);
    if (next > width - 1) break;
    kept += grapheme;
    used = next;
  }
  return width > 0 ? `${kept}…` : '';
}

/** Fills a text with spaces up to `width` columns. */
export function padTo(text: string, width: number, side: 'left' | 'right' = 'right'): string {
  const gap = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return side === 'right' ? text + gap : gap + text;
}

/** Wraps a text to `width` columns, at spaces and between wide characters. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const [gap, part] of parts(text, width)) {
    if (line !== '' && displayWidth(line) + gap.length + displayWidth(part) > width) {
      lines.push(line);
      line = part;
    } else line = line === '' ? part : `${line}${gap}${part}`;
  }
  return [...lines, line];
}

/** A word of wide characters is split only if it is longer than a line, never before a mark such as `。`. */
function parts(text: string, width: number): [gap: string, part: string][] {
  return text.split(' ').flatMap((word): [string, string][] => {
    if (displayWidth(word) <= width || !WIDE.test(word)) return [[' ', word]];
    const units: string[] = [];
    for (const grapheme of graphemes(word)) {
      const last = units.at(-1) ?? '';
      if (belongsTo(last, grapheme) && displayWidth(last + grapheme) <= width) units.splice(-1, 1, last + grapheme);
      else units.push(grapheme);
    }
    return units.map((unit, index) => [index === 0 ? ' ' : '', unit]);
  });
}

/** Whether no line may end between two neighbours: inside a word of narrow letters, before `。` and after `（`. */
function belongsTo(before: string, after: string): boolean {
  if (before === '') return false;
  return /^[，。；：、！？）”]/.test(after) || /[（“]$/.test(before) || /^[\w.-]{2}$/.test(before.slice(-1) + after);
}

export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'white' | 'onBlack' | 'inverse';

/** Paints a text. Without colours the text stays unchanged. */
export type Style = (look: Look | readonly Look[], text: string) => string;

/**
 * Whether to use colours. The first of these that is set decides: --color, NO_COLOR, FORCE_COLOR, TERM=dumb. If none is
 * set, colours are used only on a terminal.
 */
export function wantsColor(
  flag: string | undefined,
  env: Record<string, string | undefined>,
  isTerminal: boolean,
): boolean {
  if (flag === 'always') return true;
  if (flag === 'never') return false;
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0';
  if (env['TERM'] === 'dumb') return false;
  return isTerminal;
}

/** Creates the function that paints texts for one stream. */
export function createStyle(enabled: boolean): Style {
  if (!enabled) return (_look, text) => text;
  return (look, text) => {
    const [before = '', after = ''] = sequencesOf([look].flat());
    return before + text + after;
  };
}

function sequencesOf(looks: readonly Look[]): string[] {
  const names = looks.map((name) => (name === 'onBlack' ? 'bgBlack' : name)) as Parameters<typeof styleText>[0];
  const around = styleText(names, '|', { validateStream: false }).split('|');
  return around.map((codes) =>
    codes
      .split('\u001B')
      .map((code, at) => (at === 0 ? code : ownSequence(code)))
      .join(''),
  );
}

export const TO_LINE_START = ownSequence('[G');
export const CLEAR_LINE = TO_LINE_START + ownSequence('[K');
