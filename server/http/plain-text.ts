import { InvalidRequest } from '../errors.ts';

const maxDepth = 20;

/** Whether PostgreSQL and every channel can keep this text: no NUL, no lone surrogate. */
export function isPlainText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Throws a 400 when text from the query, the path or a header cannot be kept; `pointer` says which. */
export function requirePlainText(text: string, pointer: string): void {
  if (!isPlainText(text)) throw notPlain(pointer);
}

/** Throws a 400 when a parsed body is deeper than 20 or has text that cannot be kept. */
export function requirePlainTree(value: unknown, pointer = '', depth = 0): void {
  if (typeof value === 'string') return requirePlainText(value, pointer);
  if (typeof value !== 'object' || value === null) return;
  if (depth >= maxDepth)
    throw new InvalidRequest(`The body is nested deeper than ${maxDepth} levels.`, [], 'body_too_deep');
  for (const [key, member] of Object.entries(value)) {
    if (!isPlainText(key)) throw notPlain(pointer);
    // The pointer is only worth its allocation where a fault can still come.
    if (typeof member === 'string' ? !isPlainText(member) : typeof member === 'object') {
      requirePlainTree(member, `${pointer}/${escape(key)}`, depth + 1);
    }
  }
}

function escape(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function notPlain(pointer: string): InvalidRequest {
  return new InvalidRequest('The request contains NUL characters or invalid Unicode.', [
    { pointer, code: 'text_invalid', detail: 'must not contain NUL or lone surrogates' },
  ]);
}
