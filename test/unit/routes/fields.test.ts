import test from 'ava';
import { z } from 'zod';
import {
  Cursor,
  Id,
  Instant,
  Limit,
  SafeText,
  TimeZone,
  UserId,
  page,
  readCursor,
  writeCursor,
} from '../../../server/routes/schemas/fields.ts';

const passes = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

test('SafeText counts characters, not code units, and refuses controls', (t) => {
  t.true(passes(SafeText(1, 3), '支付宝'));
  t.true(passes(SafeText(1, 3), '😀😀😀'));
  t.false(passes(SafeText(1, 3), '😀😀😀😀'));
  t.false(passes(SafeText(1, 3), ''));
  t.false(passes(SafeText(2, 3), '😀'));
  t.true(passes(SafeText(2, 3), '😀a'));
  t.false(passes(SafeText(1, 9), 'a\u001bb'));
  t.false(passes(SafeText(1, 9), 'a\u0085b'));
  t.true(passes(SafeText(1, 9), 'a\nb'));
  t.false(passes(SafeText(1, 9), 5));
});

test('ids, limits, user ids', (t) => {
  t.deepEqual(
    ['a', 'A-_9', '', 'a b', 'ä', 'x'.repeat(65)].map((id) => passes(Id, id)),
    [true, true, false, false, false, false],
  );
  t.is(Limit.parse(undefined), 50);
  t.is(Limit.parse('200'), 200);
  t.deepEqual(
    ['0', '201', '-1', '1.5', '1e2', ''].filter((limit) => passes(Limit, limit)),
    [],
  );
  t.true(passes(UserId, '用户/1 @x'));
  t.deepEqual(
    ['', 'a\n', 'x'.repeat(65)].filter((id) => passes(UserId, id)),
    [],
  );
});

test('a cursor survives a round trip, and any other text is refused', (t) => {
  const position = { createdAt: new Date('2030-01-31T08:00:00.123Z'), id: 'P20300131' };
  t.deepEqual(readCursor(writeCursor(position)), position);
  t.deepEqual(Cursor.parse(writeCursor(position)), position);
  t.is(Cursor.parse(undefined), undefined);
  for (const bad of ['', 'x', Buffer.from('2030-99-31T08:00:00.123Z|P1').toString('base64url'), 'x'.repeat(300)])
    t.false(passes(Cursor, bad), bad);
});

test('times need a zone and time zones must exist', (t) => {
  t.deepEqual(Instant.parse('2030-01-31T16:00:00+08:00'), new Date('2030-01-31T08:00:00Z'));
  t.deepEqual(
    ['2030-01-31', '2030-01-31T16:00:00', 'now'].filter((text) => passes(Instant, text)),
    [],
  );
  t.is(TimeZone.parse(undefined), 'Asia/Shanghai');
  t.false(passes(TimeZone, 'Mars/Olympus'));
});

test('one row more than the limit means that there is a next page', (t) => {
  const rows = [3, 2, 1].map((n) => ({ createdAt: new Date(n), id: String(n) }));
  const full = page(
    rows,
    2,
    (row) => row,
    ({ id }) => id,
  );
  t.deepEqual(full.data, ['3', '2']);
  t.true(full.page.hasMore);
  t.deepEqual(readCursor(full.page.nextCursor ?? ''), { createdAt: new Date(2), id: '2' });
  t.deepEqual(
    page(
      rows,
      3,
      (row) => row,
      ({ id }) => id,
    ).page,
    { nextCursor: null, hasMore: false },
  );
});
