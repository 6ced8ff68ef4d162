/** The body with its first digit (after any opening) changed: still well-formed, no longer what was signed. */
export function tamper(body: Buffer): Buffer {
  const text = body.toString('latin1');
  const changed = text.replace(/(?<![%0-9A-Fa-f])\d/, (digit) => String((Number(digit) % 9) + 1));
  return Buffer.from(changed === text ? `${text} ` : changed, 'latin1');
}

/** JSON whose first member occurs twice, the second time with `value`; anything else is left as it is. */
export function duplicateFirstKey(json: string, value = '"twice"'): string {
  const key = /^\s*\{\s*("(?:[^"\\]|\\.)*")/.exec(json)?.[1];
  return key === undefined ? json : json.replace(/\}\s*$/, `,${key}:${value}}`);
}

/** A page as a proxy in front of a channel would send it. */
export const GATEWAY_PAGE =
  '<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>The request could not be served.</body></html>';
