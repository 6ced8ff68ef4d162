/** One part of a multipart/form-data body; `fileName` only of files. */
export interface Part {
  name: string;
  type: string;
  fileName: string | undefined;
  bytes: Buffer;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** The parts of a form; undefined when the media type is another, or the body is not whole. */
export function readParts(contentType: string, body: Buffer): Part[] | undefined {
  const boundary = /^multipart\/form-data;\s*boundary="?([\w'()+,./:=? -]{1,70}?)"?\s*$/i.exec(contentType)?.[1];
  if (boundary === undefined) return undefined;
  const mark = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const from = at + mark.length;
    if (body.subarray(from, from + 2).toString('latin1') === '--') return parts;
    const next = body.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), from);
    const headEnd = body.indexOf(HEAD_END, from);
    if (next < 0 || headEnd < 0 || headEnd > next) return undefined;
    const head = body.subarray(from, headEnd).toString('utf8');
    const value = (pattern: RegExp) => pattern.exec(head)?.[1];
    parts.push({
      name: value(/content-disposition:[^\r\n]*;\s*name="([^"]*)"/i) ?? '',
      type: value(/content-type:\s*([^\r\n;]*)/i)?.trim() ?? '',
      fileName: value(/content-disposition:[^\r\n]*;\s*filename="([^"]*)"/i),
      bytes: body.subarray(headEnd + HEAD_END.length, next),
    });
    at = next + 2;
  }
  return undefined;
}
