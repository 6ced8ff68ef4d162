import { setTimeout as pause } from 'node:timers/promises';
import type { Administrator } from './administrators.ts';
import type { Facts } from './event.ts';
import type { Journal } from './journal.ts';
import { JUMP_SECONDS, type Stage } from './stage.ts';

/** The simulator's own sums of an order, minor units. */
interface Sums {
  orderNo: string;
  payWay: string;
  paid: number;
  payments: number;
  refunded: number;
  refunds: number;
}

interface Ledger {
  orders: Sums[];
  entries: { orderNo: string; type: string; at: string }[];
}

/** The maximum number of clock advances. */
const ROUNDS = 14;
const WIDTH = 6;

/**
 * Lets all work finish without faults, and records the service's view of every order and the channel's. Unfinished work is recorded
 * as it is, for the checker to judge.
 */
export async function drain(stage: Stage, journal: Journal, clerks: readonly Administrator[]): Promise<void> {
  const { stands, market, sim } = stage;
  const readLedger = () => sim<Ledger>('/sim/ledger');
  const told = new Map<string, Facts>();
  const ask = async (clerk: Administrator, orderNo: string): Promise<Facts | undefined> => {
    for (let tries = 0; tries < 20; tries += 1) {
      const { end, facts } = await clerk.query(orderNo);
      if (end === 'ok') return facts;
      if (facts['http'] === 404) return undefined;
      await pause(100);
    }
    return undefined;
  };
  const lookAt = async (numbers: readonly string[]): Promise<void> => {
    await among(numbers, clerks, async (orderNo, clerk) => {
      const facts = await ask(clerk, orderNo);
      if (facts) told.set(orderNo, facts);
    });
  };
  const settle = async (ledger: Ledger): Promise<number> => {
    const sums = new Map(ledger.orders.map((one) => [one.orderNo, one]));
    const open = [...told].filter(([orderNo, facts]) => !isOver(facts, sums.get(orderNo))).map(([orderNo]) => orderNo);
    await among(open, clerks, async (orderNo, clerk) => {
      await clerk.sync(orderNo);
      const refunds = told.get(orderNo)!['refunds'] as { refundNo: string; status: string }[];
      for (const { refundNo, status } of refunds) if (!isFinal(status)) await clerk.syncRefund(refundNo);
    });
    await lookAt(open);
    return open.length;
  };

  let ledger = await readLedger();
  const numbers = () => [
    ...new Set([...market.shops.flatMap(({ orders }) => orders), ...ledger.orders].map(({ orderNo }) => orderNo)),
  ];
  await lookAt(numbers());
  for (let round = 0; (await settle(ledger)) > 0 && round < ROUNDS; round += 1) {
    if (round > 0) {
      journal.note('info', 'nemesis', 'clocks-ahead', { seconds: JUMP_SECONDS });
      journal.jump(JUMP_SECONDS * 1000);
      for (const stand of stands) stand.jump();
      await sim('/sim/clock', { advanceSeconds: JUMP_SECONDS });
      await pause(1_500);
    }
    ledger = await readLedger();
  }
  for (let tries = 0; tries < 5; tries += 1) {
    ledger = await readLedger();
    journal.note('info', 'nemesis', 'drained', {});
    await lookAt(numbers());
    const after = await readLedger();
    const isQuiet = after.entries.length === ledger.entries.length;
    ledger = after;
    // A call that the channel performed after the last look is queried like those before.
    if (isQuiet && (await settle(ledger)) === 0) break;
  }
  const firstPaid = new Map<string, number>();
  for (const { orderNo, type, at } of ledger.entries)
    if ((type === 'paid' || type === 'captured') && !firstPaid.has(orderNo)) firstPaid.set(orderNo, Date.parse(at));
  for (const { orderNo, payWay, paid, payments, refunded, refunds } of ledger.orders) {
    const at = firstPaid.get(orderNo);
    const paidAt = at === undefined ? undefined : journal.timeOf(at);
    const value = { orderNo, payWay, paid, payments, paidAt, refunded, returns: refunds };
    journal.note('info', 'channel', 'ledger', value);
  }
}

/** Whether waiting longer cannot make the service's view agree with the channel's. */
function isOver(facts: Facts, sums: Sums | undefined): boolean {
  const refunds = facts['refunds'] as { status: string; amount: number }[];
  if (refunds.some(({ status }) => !isFinal(status))) return false;
  const given = refunds.filter(({ status }) => status === 'succeeded').reduce((sum, { amount }) => sum + amount, 0);
  const { paid = 0, refunded = 0 } = sums ?? {};
  const isPaid = ['paid', 'partially_refunded', 'refunded'].includes(facts['status'] as string);
  return given === refunded && (isPaid || paid === refunded);
}

function isFinal(refundStatus: string): boolean {
  return refundStatus === 'succeeded' || refundStatus === 'failed';
}

/** Distributes items among workers, each of which handles one at a time. */
async function among<T, Who>(
  all: readonly T[],
  who: readonly Who[],
  work: (one: T, by: Who) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (by: Who) => {
    while (next < all.length) await work(all[next++]!, by);
  };
  await Promise.all(who.slice(0, WIDTH).map(lane));
}
