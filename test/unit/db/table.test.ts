import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { ApiAppRow } from '../../../server/db/entities/identity.ts';
import type { OrderExceptionRow } from '../../../server/db/entities/orders.ts';
import { embeddedDatabase, postgresDatabase, type TestDatabase } from '../../support/database.ts';

const ends: (() => Promise<unknown>)[] = [];
const lasting = { teardown: (end: () => Promise<unknown>) => ends.unshift(end) } as unknown as ExecutionContext;
const databases = { PostgreSQL: postgresDatabase, PGlite: embeddedDatabase };
const opened = new Map<string, Promise<TestDatabase>>();
test.after.always(async () => {
  for (const end of ends) await end();
});

/** Serial: the embedded database blocks this process, so PostgreSQL responses would be delayed. */
const both = (title: string, check: (t: ExecutionContext, database: TestDatabase) => Promise<void>) => {
  for (const [name, open] of Object.entries(databases))
    test.serial(`${name}: ${title}`, async (t) => {
      if (!opened.has(name)) opened.set(name, open(lasting));
      await check(t, await opened.get(name)!);
    });
};

// Neither text nor jsonb accepts U+0000; every other character must survive, quotes and backslashes first of all.
const odd = fc.constantFrom('"', "'", '\\', '{', '}', ',', '?', '$1', '\n', '\t', 'NULL', '::', '--', '😀', 'é', ' ');
const word = fc
  .array(fc.oneof(odd, fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 8 })
  .map((parts) => parts.join('').replaceAll('\0', '').slice(0, 60).toWellFormed());
const instant = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
// V8 13.6 takes a member's name that is written with an escape for one that it read before and that has a backslash at that place:
// after {"":1,"\\":1} it reads {"":1,"\n":1} as {"":1,"\\":1}. None of ours has a backslash.
const json = fc.dictionary(
  word.filter((name) => name !== '__proto__' && !name.includes('\\')),
  fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.array(word, { maxLength: 3 })),
  { maxKeys: 4 },
);
const latePayment = fc.constantFrom('accept', 'refund').map((way) => {
  return { afterExpiry: way, afterClose: 'refund', afterFailed: 'accept' } as ApiAppRow['latePayment'];
});
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

const app: fc.Arbitrary<ApiAppRow> = fc.record({
  clientId: fc.uuid(),
  name: word,
  project: word,
  kind: fc.constantFrom('merchant', 'console', 'test'),
  scopes: fc.array(word, { maxLength: 4 }),
  enabled: fc.boolean(),
  trusted: fc.boolean(),
  secretHash: word,
  secretHint: word.map((text) => text.slice(0, 30).toWellFormed()),
  secretCreatedAt: instant,
  previousSecretHash: orNull(word),
  previousSecretExpiresAt: orNull(instant),
  generation: int,
  allowedIps: fc.array(word, { maxLength: 2 }),
  rateLimit: orNull(int),
  latePayment,
  limits: orNull(fc.constant({ CNY: { perDay: '100000', ordersPerHour: 3 } })),
  remark: orNull(word),
  lastUsedAt: orNull(instant),
  createdAt: instant,
  updatedAt: instant,
});

const exception: fc.Arbitrary<OrderExceptionRow> = fc.record({
  id: fc.uuid({ version: 4 }),
  orderNo: fc.uuid(),
  refundNo: orNull(word),
  clientId: word,
  project: word,
  kind: word,
  dedupe: word,
  detail: orNull(json),
  receivedMinor: orNull(bigint),
  receivedCurrency: orNull(fc.constantFrom('CNY', 'EUR')),
  blocksRefunds: fc.boolean(),
  state: fc.constantFrom('open', 'resolved'),
  resolution: orNull(word),
  reason: orNull(word),
  resolvedBy: orNull(word),
  createdAt: instant,
  resolvedAt: orNull(instant),
});

both('every row comes back as it was written, and can be found by each of its plain values', async (t, { store }) => {
  const property = fc.asyncProperty(app, exception, async (oneApp, oneException) => {
    await store.transaction(async (tx) => {
      await tx.apps.insert(oneApp);
      await tx.exceptions.insertMany([oneException]);
    });
    await store.read(async (tx) => {
      t.deepEqual(await tx.apps.find({ clientId: oneApp.clientId }), oneApp);
      const { detail: _detail, ...plain } = oneException;
      t.deepEqual(await tx.exceptions.find(plain), oneException);
      const lists = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== null));
      const anyOf = Object.fromEntries(Object.entries(lists).map(([name, value]) => [name, [value, value]]));
      t.deepEqual(await tx.exceptions.list(anyOf), [oneException]);
    });
  });
  await fc.assert(property, { numRuns: 40 });
});

both('every change comes back as it was made', async (t, { store }) => {
  const property = fc.asyncProperty(exception, exception, async (before, after) => {
    const { id: _id, ...patch } = after;
    const { id } = before;
    const found = await store.transaction(async (tx) => {
      await tx.exceptions.insert(before);
      t.is(await tx.exceptions.update({ id }, patch), 1);
      return tx.exceptions.lock({ id });
    });
    t.deepEqual(found, { ...patch, id });
  });
  await fc.assert(property, { numRuns: 40 });
});

both('sums beyond 2^53 and instants of the millisecond are exact', async (t, { store }) => {
  const [one] = fc.sample(exception, 1);
  const row = { ...one!, receivedMinor: 9007199254740993n, createdAt: new Date('2026-01-02T03:04:05.006Z') };
  await store.transaction((tx) => tx.exceptions.insert(row));
  const found = await store.read((tx) => tx.exceptions.find({ id: row.id, receivedMinor: 9007199254740993n }));
  t.is(found?.receivedMinor, 9007199254740993n);
  t.is(found?.createdAt.getTime(), row.createdAt.getTime());
  t.is(await store.read((tx) => tx.exceptions.count({ receivedMinor: 9007199254740992n })), 0);
});

both('lists are ordered, limited and moved on; an empty list of values matches nothing', async (t, { store }) => {
  const rows = Array.from({ length: 700 }, (_, n) => ({ jti: `j${n}`, owner: `list${n % 7}`, at: new Date(n * 1000) }));
  await store.transaction(async (tx) => {
    await tx.revokedTokens.insertMany(
      rows.map(({ jti, owner, at }) => ({ jti, owner, expiresAt: at, revokedAt: new Date(0) })),
    );
    await tx.revokedTokens.insertMany([]);
  });
  await store.read(async (tx) => {
    const options = { orderBy: { owner: 'desc', expiresAt: 'asc' }, limit: 2, offset: 1 } as const;
    const page = await tx.revokedTokens.list({ owner: ['list3', 'list4'] }, options);
    t.deepEqual(
      page.map(({ jti }) => jti),
      ['j11', 'j18'],
    );
    t.is(await tx.revokedTokens.count({}), 700);
    t.is(await tx.revokedTokens.count({ owner: 'list1' }), 100);
    t.deepEqual(await tx.revokedTokens.list({ owner: [] }), []);
  });
  await store.transaction(async (tx) => {
    t.is(await tx.revokedTokens.delete({ owner: ['list1', 'list2'] }), 200);
    t.is(await tx.revokedTokens.update({ owner: 'list3' }, {}), 0);
    t.is(await tx.revokedTokens.update({ owner: 'list3', jti: 'absent' }, { owner: 'list4' }), 0);
    t.is(await tx.revokedTokens.find({ jti: 'j1' }), undefined);
  });
});

both('a row that is taken is not new, and a second insert of it is refused', async (t, { store }) => {
  const row = { jti: 'taken', owner: 'a', expiresAt: new Date(0), revokedAt: new Date(0) };
  t.true(await store.transaction((tx) => tx.revokedTokens.insertIfNew(row)));
  t.false(await store.transaction((tx) => tx.revokedTokens.insertIfNew({ ...row, owner: 'b' })));
  await t.throwsAsync(
    store.transaction((tx) => tx.revokedTokens.insert(row)),
    { code: '23505' },
  );
  t.is((await store.read((tx) => tx.revokedTokens.find({ jti: 'taken' })))?.owner, 'a');
});

both('what is left out has the default of the column', async (t, { store }) => {
  const event = { type: 'order.paid', clientId: 'a', project: 'p', objectNo: 'P1', payload: {}, notifyUrl: null };
  const ids = [randomUUID(), randomUUID()];
  const rows = ids.map((id) => ({ ...event, id, dedupe: id, createdAt: new Date(0), sequence: undefined }));
  await store.transaction((tx) => tx.events.insertMany(rows));
  const found = await store.read((tx) => tx.events.list({ id: ids }, { orderBy: { sequence: 'asc' } }));
  t.deepEqual(
    found.map(({ id }) => id),
    ids,
  );
  t.true(found.every(({ sequence }) => typeof sequence === 'bigint' && sequence > 0n));
});

both('no caller can smuggle in an operator, a column or a value that is not plain', async (t, { store }) => {
  await store.read(async (tx) => {
    const wrong = [{ owner: { $ne: 'a' } }, { owner: undefined }, { owner: [{ $like: '%' }] }, { 'x" or 1=1 --': 1 }];
    for (const where of wrong)
      await t.throwsAsync(tx.revokedTokens.find(where as never), { instanceOf: TypeError }, JSON.stringify(where));
  });
  await t.throwsAsync(
    store.autocommit((tx) => tx.revokedTokens.insert({ other: 1 } as never)),
    { instanceOf: TypeError, message: /has no column for the property other/ },
  );
});

both('a failure in the middle leaves nothing, a savepoint leaves the rest', async (t, { store }) => {
  const row = (jti: string) => ({ jti, owner: 'savepoint', expiresAt: new Date(0), revokedAt: new Date(0) });
  const failed = store.transaction(async (tx) => {
    await tx.revokedTokens.insert(row('gone'));
    throw new Error('on purpose');
  });
  await t.throwsAsync(failed, { message: 'on purpose' });
  await store.transaction(async (tx) => {
    await tx.revokedTokens.insert(row('kept'));
    const part = tx.savepoint(async (inner) => {
      await inner.revokedTokens.insert(row('inner'));
      await inner.revokedTokens.insert(row('kept'));
    });
    await t.throwsAsync(part, { code: '23505' });
  });
  const left = await store.read((tx) => tx.revokedTokens.list({ owner: 'savepoint' }));
  t.deepEqual(
    left.map(({ jti }) => jti),
    ['kept'],
  );
});
