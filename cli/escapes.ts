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
export interface PaintedPart {
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
