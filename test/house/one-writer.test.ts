import test from 'ava';
import { sourcesIn } from './sources.ts';

const server = sourcesIn('server').filter(({ path }) => !path.startsWith('server/db/migrations/'));
const core = server.filter(({ path }) => path.startsWith('server/payments/core/'));

test('only apply writes orders, refunds and their history', (t) => {
  const write =
    /\.(orders|refunds|transitions)\s*\.(insert|insertIfNew|insertMany|update|delete)\(|\b(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*'(orders|refunds|transitions)\b/;
  const writers = server.filter(({ text }) => write.test(text)).map(({ path }) => path);
  t.deepEqual(writers, ['server/payments/ledger.ts']);
});

test('other statements on these tables update only leases, held stock and personal data, and delete only unpaid orders and expired rows', (t) => {
  const statement =
    /\b(insert into|delete from|update)\s+"?(?:orders|refunds|transitions|\$\{(?:table|from)\})"?(?:\s+(?!set\b)\w+)?\s+(set\s+[\w${}]+|\(|where\s+\w+)/g;
  const found = server.flatMap(({ path, text }) =>
    [...text.matchAll(statement)].map(([, verb, set]) => `${path}: ${verb} ${set}`),
  );
  t.deepEqual(found.toSorted(), [
    // Bill lines.
    'server/db/queries/bill-lines.ts: delete from (',
    'server/db/queries/catalog.ts: update set stock_held',
    'server/db/queries/catalog.ts: update set stock_held',
    'server/db/queries/due.ts: update set ${leased}',
    'server/db/queries/due.ts: update set ${leased}',
    'server/db/queries/forget.ts: update set outcome',
    'server/db/queries/forget.ts: update set reason',
    'server/db/queries/forget.ts: update set subject',
    // Sessions and revocations.
    'server/db/queries/identity.ts: delete from where ctid',
    // Deliveries, notifications, effects and lookups.
    'server/db/queries/retention.ts: delete from where ctid',
    'server/db/queries/retention.ts: delete from where ctid',
    // Messages, and transitions older than Retention.HistoryDays.
    'server/db/queries/retention.ts: delete from where id',
    // Unpaid orders and their transitions.
    'server/db/queries/retention.ts: delete from where order_no',
    'server/db/queries/retention.ts: delete from where order_no',
  ]);
});

test('the core imports only types, and uses no clock, randomness or promise', (t) => {
  t.true(core.length >= 8);
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom\w*\(|\basync\b|\bawait\b|\bPromise\b|\bprocess\.|\bfetch\(/;
  for (const { path, text, imports } of core) {
    const values = imports.filter(
      ({ target, typeOnly, names }) => !typeOnly && names.length > 0 && !target.startsWith('server/payments/core/'),
    );
    t.deepEqual(values, [], path);
    const code = text.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
    t.notRegex(code, impure, path);
  }
  for (const planted of ['Date.now()', 'new Date()', 'async (tx) =>', 'randomUUID()']) t.regex(planted, impure);
});

test('only lists, exports and figures are read from a replica', (t) => {
  const readers = server.filter(({ text }) => /\breports\.read\(/.test(text)).map(({ path }) => path);
  t.deepEqual(readers.toSorted(), [
    'server/catalog/coins.ts',
    'server/catalog/stats.ts',
    'server/catalog/users.ts',
    'server/payments/bills/read.ts',
    'server/payments/bills/settlement.ts',
    'server/payments/export.ts',
    'server/payments/view.ts',
    'server/skillpay/operations.ts',
  ]);
});

test('payctl decodes user files in one place that handles byte order marks; other decoders read only its own files', (t) => {
  const decoders = sourcesIn('cli').filter(({ text }) => /readFile(Sync)?\([^;]*'utf-?8'/.test(text));
  t.deepEqual(
    decoders.map(({ path }) => path),
    ['cli/prebuilt-help.ts', 'cli/reserved-output.ts', 'cli/version.ts'],
  );
});
