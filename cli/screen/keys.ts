import { emitKeypressEvents } from 'node:readline';
import type { Streams } from '../terminal.ts';

/** A key: its name (`up`, `return`, `escape`, `tab` …), or the character that was typed. */
export interface Key {
  name: string;
  ctrl: boolean;
  shift: boolean;
  /** What is to be inserted into a text; empty for keys that are no characters. */
  text: string;
}

/** What Node.js tells of a key. */
interface Keypress {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}

/** How long an escape may still be the beginning of the sequence of another key. */
const ESCAPE_MS = 50;

/** Reads keys from a terminal in raw mode until the function that it gives is called; the input is then as it was. */
export function readKeys(stdin: Streams['stdin'], onKey: (key: Key) => void): () => void {
  const wasRaw = stdin.isRaw === true;
  const listener = (text: string | undefined, key: Keypress = {}): void => onKey(keyOf(text, key));
  // Only this member of an interface of readline is looked at.
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as never);
  stdin.on('keypress', listener);
  stdin.setRawMode?.(true);
  stdin.resume();
  return () => {
    stdin.off('keypress', listener);
    stdin.setRawMode?.(wasRaw);
    stdin.pause();
  };
}

const CONTROLS = /\p{Cc}/u;

/** A key as it is named here. */
export function keyOf(text: string | undefined, { name, ctrl = false, meta = false, shift = false }: Keypress): Key {
  const typed = text !== undefined && !ctrl && !meta && !CONTROLS.test(text) ? text : '';
  return { name: name ?? typed, ctrl, shift, text: typed };
}
