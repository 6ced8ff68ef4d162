import { type Part, readParts } from '../multipart.ts';

/** The parts of a form. wechatpayv3 for Python does not name its boundary, so it is taken from the first line then. */
export function readForm(contentType: string, body: Buffer): Part[] | undefined {
  const isNamed = !/^multipart\/form-data$/i.test(contentType);
  const boundary = isNamed ? undefined : /^--([^\r\n]{1,70})\r\n/.exec(body.toString('latin1', 0, 80))?.[1];
  return readParts(boundary === undefined ? contentType : `${contentType}; boundary=${boundary}`, body);
}
