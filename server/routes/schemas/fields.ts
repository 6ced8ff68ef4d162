import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Page } from '../../http/contract.ts';
import { Reply } from '../../http/endpoint.ts';
import type { PageOf } from '../../payments/view.ts';
import { UUID } from '../../domain.ts';

export { SafeText } from '../../safe-text.ts';

const idPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** An identifier or code, `^[A-Za-z0-9_-]{1,64}$`; an invalid path parameter is a 404. */
export const Id = z.string().regex(idPattern, 'must be 1 to 64 letters, digits, "_" or "-"').meta({ id: 'Id' });

/** A code that an administrator chooses (project, product, coin); same alphabet as `Id`. */
export const Code = z
  .string()
  .regex(idPattern, 'must be 1 to 64 letters, digits, "_" or "-"')
  .meta({ id: 'Code', examples: ['summer-sale'] });

/** A payer's id in a path: percent-decoded, 1 to 64 characters, no control characters. */
export const UserId = z
  .string()
  .min(1)
  .max(128)
  .refine(
    (text) => [...text].length <= 64 && !/\p{Cc}/u.test(text),
    'must be 1 to 64 characters without control characters',
  )
  .meta({ id: 'UserId', minLength: 1, maxLength: 64, examples: ['user-1001'] });

export const Limit = z
  .string()
  .regex(/^\d{1,3}$/, 'must be a number from 1 to 200')
  .transform(Number)
  .pipe(z.int().min(1).max(200))
  .default(50)
  .meta({ description: 'Entries per page, 1 to 200; default 50.' });

/** The row after which the next page starts, in a list ordered by `createdAt` and then `id`, newest first. */
interface CursorPosition {
  createdAt: Date;
  id: string;
}

/** Encodes a position as an opaque cursor. */
export function writeCursor({ createdAt, id }: CursorPosition): string {
  return Buffer.from(`${createdAt.toISOString()}|${id}`).toString('base64url');
}

/** Decodes a cursor; undefined if `writeCursor` did not create it. */
export function readCursor(cursor: string): CursorPosition | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([A-Za-z0-9_.:-]{1,64})$/.exec(
    Buffer.from(cursor, 'base64url').toString('utf8'),
  );
  const createdAt = new Date(match?.[1] ?? Number.NaN);
  if (!match?.[2] || Number.isNaN(createdAt.getTime())) return undefined;
  return { createdAt, id: match[2] };
}

/** The `cursor` parameter: an opaque text from `page.nextCursor`. A malformed cursor is refused with 400. */
export const Cursor = z
  .string()
  .max(256)
  .transform((text, context) => {
    const position = readCursor(text);
    if (position) return position;
    context.addIssue('is not a valid cursor');
    return z.NEVER;
  })
  .optional()
  .meta({ description: 'Opaque cursor: `page.nextCursor` of the previous page.' });

/**
 * A URL from a caller. A user name or password in it is refused, because it would be stored, written to the audit log
 * and sent.
 */
export const HttpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(512)
  .refine((text) => !hasUserinfo(text), 'must not contain a user name or password');

function hasUserinfo(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.username !== '' || url.password !== '');
}

export const Instant = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 time such as 2030-01-31T08:00:00Z' })
  .transform((text) => new Date(text));

/** A time in a response: RFC 3339 UTC. */
export const Timestamp = z.iso.datetime().meta({ id: 'Timestamp', examples: ['2030-01-31T08:00:00.000Z'] });

/** The IANA time zone in which statistics are split into days. Days in `from` and `to` are also in this zone. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone such as Asia/Shanghai')
  .default('Asia/Shanghai');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const TimeRange = { createdFrom: Instant.optional(), createdTo: Instant.optional() };

export const Paging = { limit: Limit, cursor: Cursor };

/**
 * An amount in major units as sent, a JSON number or a decimal string. Only its form is checked here; how many decimals
 * are valid depends on the currency.
 */
export const Amount = z.union([z.number(), z.string().max(32)]).meta({
  id: 'Amount',
  description: 'Amount in major units, as a number or a decimal string.',
  examples: [12.5, '12.50'],
});

export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Any JSON value. Only presence is checked, because every value of a parsed body is a JSON value. */
export const JsonValue = z.custom<z.core.util.JSONType>((value) => value !== undefined, 'is required');

/** Converts rows to a page. The row beyond `limit`, which the caller also read, shows that there is a next page. */
export function page<R, T>(
  rows: readonly R[],
  limit: number,
  position: (row: R) => CursorPosition,
  present: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  const last = shown.at(-1);
  return {
    data: shown.map(present),
    page: { nextCursor: hasMore && last ? writeCursor(position(last)) : null, hasMore },
  };
}

const number = /^\d{1,18}$/;

/** A cursor of another list, whose ids are not UUIDs, is refused with 400. */
export const UuidPaging = { limit: Limit, cursor: cursorOf(UUID) };

export const NumberPaging = { limit: Limit, cursor: cursorOf(number) };

function cursorOf(id: RegExp) {
  return z
    .string()
    .max(256)
    .transform((text, context): CursorPosition => {
      const position = readCursor(text);
      if (position && id.test(position.id)) return position;
      context.addIssue('is not a valid cursor of this list');
      return z.NEVER;
    })
    .optional()
    .meta({ description: 'Opaque cursor: `page.nextCursor` of the previous page.' });
}

/** Converts a page of a list to the form in which the API returns it. */
export function pageOf<Item>({ items, next }: PageOf<Item>): Page<Item> {
  return { data: items, page: { nextCursor: next ? writeCursor(next) : null, hasMore: next !== null } };
}

export const Bom = Flag.optional().describe(
  '`true` = the CSV starts with a UTF-8 byte order mark (BOM). Without it, Excel on Chinese Windows reads the file as GBK. NDJSON never has a BOM.',
);

const BOM = Buffer.from('\uFEFF');

/** Builds the response that streams an export file. `body` is the file; no data may have been read from it before. */
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
