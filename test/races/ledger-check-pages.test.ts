import { sql } from 'kysely';
import test from 'ava';
import { BOOK_CHECKS, checkStatement, nextKeys, type WalkName, WALKS } from '../../server/db/queries/ledger-check.ts';
import { createAudit } from '../../server/identity/audit.ts';
import { auditKey } from '../support/audit-keys.ts';
import { isLong } from '../support/counts.ts';
import { type TestDatabase, postgresDatabase } from '../support/database.ts';
import { proveBooks } from '../support/prove.ts';
import { seedLedger } from '../support/seed-ledger.ts';

const ORDERS = 15;
const LIMITS = [1, 5, 14, 15, 16];
/**
 * The tampered row and the page sizes: alone on its page, at an end, at a beginning, and alone on the last page. A long run has
 * every size for each.
 */
const PLACES: readonly (readonly [n: number, limits: readonly number[]])[] = [
  [1, isLong ? LIMITS : [1]],
  [5, isLong ? LIMITS : [5]],
  [6, isLong ? LIMITS : [5]],
  [15, isLong ? LIMITS : [14]],
];

async function honest(t: Parameters<typeof postgresDatabase>[0], orders = ORDERS): Promise<TestDatabase> {
  const on = await postgresDatabase(t);
  await seedLedger(on, orders);
  const audit = createAudit({ now: () => new Date(), key: auditKey });
  for (let n = 0; n < 12; n += 1)
    await on.store.transaction((tx) =>
      audit(tx, { actorKind: 'admin', actor: 'root', action: 'coin.adjust', target: String(n) }),
    );
  return on;
}

const numberOf = (n: number) => `P${String(n).padStart(10, '0')}`;

test.serial('the ledger check passes with pages of every size, and every row is on exactly one page', async (t) => {
  const on = await honest(t);
  const whole = await proveBooks(on, 10_000);
  t.is(whole.pages, 1);
  t.true(whole.ok, JSON.stringify(whole.proofs.filter(({ ok }) => !ok)));
  for (const limit of LIMITS) {
    const paged = await proveBooks(on, limit);
    t.deepEqual(paged.proofs, whole.proofs, `${limit} a page`);
    t.true(paged.pages >= ORDERS / limit);
  }
});

/** A tampering of the n-th order, refund, account or entry. */
const LIES: readonly [check: string, lie: (n: number) => string][] = [
  ['refunded', (n) => `update orders set refunded = refunded + 1 where order_no = '${numberOf(n)}'`],
  ['refunding', (n) => `update orders set refunding = 1 where order_no = '${numberOf(n)}'`],
  ['paid', (n) => `update orders set channel_trade_no = null where order_no = '${numberOf(n)}'`],
  [
    'order-history',
    (n) =>
      `update transitions set to_state = 'failed' where order_no = '${numberOf(n)}' and refund_no is null and sequence = 3`,
  ],
  ['refund-history', (n) => `update refunds set state = 'failed' where order_no = '${numberOf(n)}'`],
  ['sequence', (n) => `delete from transitions where order_no = '${numberOf(n)}' and sequence = 2`],
  ['order-events', (n) => `delete from events where object_no = '${numberOf(n)}'`],
  ['refund-events', (n) => `delete from events where object_no = 'R${numberOf(n).slice(1)}'`],
  ['coins', (n) => `update coin_accounts set balance = balance + 1 where user_id = 'u${Math.ceil(n / 5)}'`],
  ['coins', (n) => `update coin_entries set delta = delta + 1 where id = ${n}`],
  [
    'bills',
    (n) => `with came as (
      insert into bills (bill_no, pay_way, account, mode, project, day, state, reading, readings, lines, most_lines, not_ours, checks, created_at)
      values ('BX', 'alipay', 'acc${n}', 'live', 'default', current_date - 40, 'done', 1, 1, 0, 0, 0, 0, now()))
      update bills set state = 'missing' where bill_no = 'B${String(n).padStart(10, '0')}'`,
  ],
  [
    'bills',
    (
      n,
    ) => `insert into bill_differences (id, bill_no, pay_way, project, day, kind, order_no, key, state, checks, queue_key, created_at)
      values (gen_random_uuid(), 'B${String(n).padStart(10, '0')}', 'alipay', 'default', current_date - 2, 'fee_differs', 'P', '', 'listed', 1, 'alipay simulator 1', now())`,
  ],
  ['coins', (n) => `update coin_entries set balance_after = balance_after + 1 where id = ${n}`],
];

test.serial('a tampered row is found at every page boundary, exactly as on one page', async (t) => {
  const on = await honest(t);
  let found = 0;
  for (const [check, lie] of LIES)
    for (const [n, limits] of PLACES) {
      // Rolled back, so that each tampering is checked alone.
      await on.store
        .transaction(async (tx) => {
          await tx.sql`${sql.raw(lie(n))}`;
          const inside = {
            store: { ...on.store, read: (work: never) => (work as (of: typeof tx) => Promise<never>)(tx) },
          };
          const whole = await proveBooks(inside as never, 10_000);
          const proof = whole.proofs.find((one) => one.check === check);
          t.true(proof !== undefined && proof.count >= 1, `${lie(n)}: found`);
          for (const limit of limits) {
            const paged = await proveBooks(inside as never, limit);
            t.deepEqual(
              paged.proofs.map(({ count, examples }) => [count, examples.map(({ id }) => id).toSorted()]),
              whole.proofs.map(({ count, examples }) => [count, examples.map(({ id }) => id).toSorted()]),
              `${lie(n)}, ${limit} a page`,
            );
          }
          found += 1;
          throw new Error('undo');
        })
        .catch((error: unknown) => t.is((error as Error).message, 'undo'));
    }
  t.is(found, LIES.length * PLACES.length);
});

test.serial(
  'refunds without an order and entries without an account are found, before, between and after all others',
  async (t) => {
    const on = await honest(t);
    for (const orderNo of ['A0', `${numberOf(7)}x`, 'Z9'])
      await on.store.transaction(
        (tx) =>
          tx.sql`insert into refunds (refund_no, order_no, client_id, project, origin, amount, currency, state, accepted, surplus, elsewhere, actor, tries, absent_count, checks, queue_key, created_at)
         values (${`R-${orderNo}`}, ${orderNo}, 'a', 'default', 'merchant', 1, 'CNY', 'succeeded', true, false, false, 's', 1, 0, 0, 'alipay simulator 1', now())`,
      );
    await on.store.transaction((tx) => tx.sql`delete from coin_accounts where user_id = 'u1'`);
    for (const limit of [...LIMITS, 10_000]) {
      const { proofs } = await proveBooks(on, limit);
      const count = (check: string) => proofs.find((one) => one.check === check)?.count;
      t.is(count('refund-history'), 3, `${limit} a page`);
      t.is(count('refund-events'), 3, `${limit} a page`);
      t.is(count('coins'), 5, `${limit} a page: the entries of the payer`);
    }
  },
);

/** A short run takes the first and the last line with two neighbours, and both sides of the end of a page of three. */
const LIED_LINES = isLong ? [2, 3, 4, 5, 6, 7, 8, 9, 10, 11] : [2, 3, 4, 11];

test.serial('a changed or missing audit line is found at every page boundary', async (t) => {
  const on = await honest(t, 0);
  for (const lie of ['update audit_log set actor = $x where id = ', 'delete from audit_log where id = '])
    for (const id of LIED_LINES)
      await on.store
        .transaction(async (tx) => {
          await tx.sql`${sql.raw(lie.replace('$x', `'somebody'`))}${sql.lit(id)}`;
          const inside = {
            store: { ...on.store, read: (work: never) => (work as (of: typeof tx) => Promise<never>)(tx) },
          };
          for (const limit of isLong ? [1, 2, 3, 5, 10_000] : [1, 3, 10_000]) {
            const { proofs } = await proveBooks(inside as never, limit);
            t.is(proofs.at(-1)?.check, 'audit-log');
            t.is(proofs.at(-1)?.count, 1, `${lie}${id}, ${limit} a page`);
          }
          throw new Error('undo');
        })
        .catch((error: unknown) => t.is((error as Error).message, 'undo'));
});

test.serial('a page reads only its own rows: every statement has both ends of its range', async (t) => {
  const on = await honest(t);
  for (const walk of Object.keys(WALKS) as WalkName[]) {
    const { rows, last } = await on.store.read((tx) => nextKeys(tx, walk, WALKS[walk].first, 3));
    t.is(rows, 3);
    const statements = BOOK_CHECKS.flatMap(
      (check) => checkStatement(check, walk, { after: WALKS[walk].first, upTo: last }) ?? [],
    );
    t.true(statements.length > 0);
    for (const statement of statements) {
      const { sql: text } = await on.store.read(async (tx) => statement.compile(tx.db));
      t.true(text.includes(' > $'), text);
      t.is(text.match(/ > \$/g)?.length, text.match(/ <= \$/g)?.length, text);
    }
  }
});
