import type { Readable } from 'node:stream';
import { Reply } from '../../http/endpoint.ts';
import { Flag } from './fields.ts';

/** Whether CSV begins with the UTF-8 mark. */
export const Bom = Flag.optional().describe(
  '`true` = the CSV begins with the UTF-8 mark (BOM), without which Excel on a Chinese Windows takes it for GBK. NDJSON never has one.',
);

const BOM = Buffer.from('\uFEFF');

/** An export as a file that is streamed; `body` was not read from yet. */
export function exportReply(
  name: string,
  { format, bom }: { format: 'csv' | 'ndjson'; bom?: boolean | undefined },
  body: Readable,
): Reply {
  const type = format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson; charset=utf-8';
  if (bom && format === 'csv') body.unshift(BOM);
  return new Reply({
    headers: { 'content-type': type, 'content-disposition': `attachment; filename="${name}.${format}"` },
    body,
  });
}
