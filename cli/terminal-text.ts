import { styleText } from 'node:util';

const ESCAPE = '\u001B';

/**
 * Stands for the escape character in what payctl itself draws, until a sink writes it. It is drawn by lot in each process, so data
 * cannot contain it: whatever else looks like an escape sequence came from outside. Not from `node:crypto`, which costs a start 10 ms: data
 * is older than the process.
 */
const OWN = `\uFDD0${Math.random()}${Math.random()}\uFDD0`;

/** A control sequence of our own, such as `[1m`. */
export function ownSequence(sequence: string): string {
  return OWN + sequence;
}

/** Whether a text has sequences of our own, so that its width cannot be measured. */
export function isPainted(text: string): boolean {
  return text.includes(OWN);
}

/** One part of a painted text: the control sequence of our own that stands before it, without the escape; empty for none. */
interface PaintedPart {
  sequence: string;
  text: string;
}

/** A painted text, taken apart at its own sequences. */
export function paintedParts(text: string): PaintedPart[] {
  return text.split(OWN).map((part, at) => {
    const sequence = at === 0 ? '' : (/^\[[0-9;?]*[A-Za-z]/.exec(part)?.[0] ?? '');
    return { sequence, text: part.slice(sequence.length) };
  });
}

/** The text as a terminal gets it: our own sequences work, whatever else it would obey is shown as `\u001b`. */
export function forTerminal(text: string): string {
  return text.split(OWN).map(shown).join(ESCAPE);
}

/** Makes what is written to one terminal, bytes or text, into text for it; characters and line ends may come in parts. */
export function terminalText(): (written: string | Uint8Array) => string {
  const decoder = new TextDecoder();
  let held = '';
  return (written) => {
    const text = held + (typeof written === 'string' ? written : decoder.decode(written, { stream: true }));
    // Whether this is a line end is known when the next part comes.
    held = text.endsWith('\r') ? '\r' : '';
    return forTerminal(held === '' ? text : text.slice(0, -1));
  };
}

/** The text as a pipe or a file gets it: data as it is. */
export function forPipe(text: string): string {
  return text.includes(OWN) ? text.replaceAll(OWN, ESCAPE) : text;
}

// Control characters (except tab and line break), the marks that reorder text, what has no width but the joiners of words and emoji, and the
// line breaks of Unicode.
const OBEYED =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /\r(?!\n)|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/g;

/** The text with everything that a terminal would obey written as in JSON, so that JSON remains the same JSON. */
export function shown(text: string): string {
  return text.replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const PLAIN = /^[\x20-\x7E]*$/;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** A text as what a reader takes for its characters. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** Columns that one of them takes on a terminal: 0, 1 or 2. */
export function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Columns that a text takes on a terminal; wide characters take two, combining ones none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);
}

/** Cuts a text to at most `width` columns, ending in `…` when something is lost; never splits a character. */
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

/** Breaks a text into lines of at most `width` columns: at blanks, and between wide characters, which have no blanks between them. */
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

/** What stays together, with what stands before it; a word in wide characters stays whole where it fits into a line. */
function parts(text: string, width: number): [gap: string, part: string][] {
  return text.split(' ').flatMap((word): [string, string][] => {
    if (displayWidth(word) <= width || !WIDE.test(word)) return [[' ', word]];
    return graphemes(word).map((grapheme, index) => [index === 0 ? ' ' : '', grapheme]);
  });
}

/** The looks that payctl uses. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'white' | 'onBlack' | 'inverse';

/** Paints a text, or leaves it as it is when its stream has no colours. */
export type Style = (look: Look | readonly Look[], text: string) => string;

/** What decides about colours, strongest first: --color, NO_COLOR, FORCE_COLOR, TERM=dumb, the stream. */
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

/** Makes the painter of one stream. */
export function createStyle(enabled: boolean): Style {
  if (!enabled) return (_look, text) => text;
  return (look, text) => {
    const [before = '', after = ''] = sequencesOf([look].flat());
    return before + text + after;
  };
}

/** What is written before and after a painted text. */
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

/** Goes to the start of the line and empties it. */
export const CLEAR_LINE = ownSequence('[G') + ownSequence('[K');
