import type { MoveRow, OrderExceptionRow, OrderRow } from '../../../server/db/entities/orders.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import { AppError } from '../../../server/errors.ts';
import { readNumberAtChannel } from '../../../server/payments/numbers.ts';
import type { Snapshot } from '../memory/tables.ts';
import type { Ended } from './driver.ts';
import type { Deed } from './state.ts';
import { givenBack, type Trade, tradeOf, type Truth } from './truth.ts';

/** What is wrong, in words; nothing = all is well. */
export type Wrong = readonly string[];

/** The rows of one order, as the invariants look at them. */
interface Book {
  order: OrderRow;
  refunds: readonly RefundRow[];
  moves: readonly MoveRow[];
  events: ReadonlySet<string>;
  exceptions: readonly OrderExceptionRow[];
}

/** Every order with what belongs to it. */
export function booksOf({ orders, refunds, moves, events, exceptions }: Snapshot): Book[] {
  return (orders as unknown as OrderRow[]).map((order) => {
    const own = (row: { orderNo?: unknown }) => row.orderNo === order.orderNo;
    const numbers = new Set([order.orderNo, ...refunds.filter(own).map((row) => row['refundNo'])]);
    return {
      order,
      refunds: refunds.filter(own) as unknown as RefundRow[],
      moves: moves.filter(own) as unknown as MoveRow[],
      events: new Set(
        events
          .filter((row) => numbers.has(row['objectNo']))
          .map(({ objectNo, type }) => `${String(type)} ${String(objectNo)}`),
      ),
      exceptions: exceptions.filter(own) as unknown as OrderExceptionRow[],
    };
  });
}

const RESERVED = ['pending', 'processing', 'abnormal'];

/** What holds of every database that any commit leaves behind. */
export function wrongIn(snapshot: Snapshot): Wrong {
  return booksOf(snapshot).flatMap(wrongInBook);
}

function wrongInBook({ order, refunds, moves, events, exceptions }: Book): Wrong {
  const { orderNo, state, paid, refunded, refunding, overrun, amount } = order;
  const sum = (states: readonly string[]) =>
    refunds.filter((one) => !one.surplus && states.includes(one.state)).reduce((all, one) => all + one.amount, 0n);
  const isListed = (...kinds: string[]) => exceptions.some(({ kind }) => kinds.includes(kind));
  const isOpen = exceptions.some((one) => one.state === 'open');
  const wrong: string[] = [];
  const must = (holds: boolean, what: string) => {
    if (!holds) wrong.push(`${orderNo} (${state}): ${what}`);
  };
  must(refunded === sum(['succeeded']), `refunded ${refunded} is not the sum of its refunds, ${sum(['succeeded'])}`);
  must(refunding === sum(RESERVED), `refunding ${refunding} is not the sum of its open refunds, ${sum(RESERVED)}`);
  must(refunded + refunding <= paid + overrun, 'more goes back than came');
  must(overrun === 0n || isListed('refund_overrun', 'refund_elsewhere'), 'an overrun that is not listed');
  must(paid === 0n || ['paid', 'closed', 'failed'].includes(state), `has ${paid} while it is open`);
  must(state !== 'paid' || (paid > 0n && order.channelTradeNo !== null), 'paid without money or a channel number');
  must(paid === 0n || paid === amount || isListed('amount_mismatch'), `paid ${paid} of ${amount}`);
  const own = moves.filter(({ refundNo }) => refundNo === null);
  must(own.at(-1)?.toState === state, `its history ends with ${own.at(-1)?.toState}`);
  must(moves.length === order.sequence, `${moves.length} lines of history, sequence ${order.sequence}`);
  for (const { refundNo, state: stands, nextCheckAt } of refunds) {
    must(
      moves.findLast((one) => one.refundNo === refundNo)?.toState === stands,
      `the history of ${refundNo} ends otherwise`,
    );
    must(stands !== 'succeeded' || events.has(`refund.succeeded ${refundNo}`), `nobody was told of ${refundNo}`);
    must(
      !RESERVED.includes(stands) || nextCheckAt !== null || isOpen,
      `${refundNo} (${stands}) is neither due nor listed`,
    );
  }
  const came = events.has(`order.paid ${orderNo}`) || events.has(`order.paid_late ${orderNo}`);
  must(paid === 0n || came, 'nobody was told of its payment');
  must(state !== 'closed' || events.has(`order.closed ${orderNo}`), 'nobody was told that it is closed');
  must(
    ['paid', 'closed', 'failed'].includes(state) || order.nextCheckAt !== null || isOpen,
    'is neither due nor listed',
  );
  return wrong;
}

/** What one commit may not do to what was there before it. */
export function wrongStep(before: Snapshot, after: Snapshot): Wrong {
  const orders = after.orders as unknown as OrderRow[];
  return (before.orders as unknown as OrderRow[]).flatMap((old) => {
    const now = orders.find(({ orderNo }) => orderNo === old.orderNo);
    if (!now) return [`${old.orderNo} is gone`];
    const wrong: string[] = [];
    if (old.state === 'paid' && now.state !== 'paid') wrong.push(`${old.orderNo} was paid, and is ${now.state}`);
    if (now.paid < old.paid) wrong.push(`${old.orderNo} had ${old.paid}, and has ${now.paid}`);
    return wrong;
  });
}

/** What holds between what we have written down and what the channel did, at any moment. */
export function wrongBetween(snapshot: Snapshot, truth: Truth): Wrong {
  return booksOf(snapshot).flatMap(({ order, refunds }) => {
    const trade = tradeOf(truth, order.orderNo);
    const wrong: string[] = [];
    const must = (holds: boolean, what: string) => {
      if (!holds) wrong.push(`${order.orderNo} (${order.state}): ${what}`);
    };
    const isPaid = trade?.state === 'paid';
    must(order.paid === 0n || isPaid, 'we have money that the channel does not');
    for (const one of refunds)
      must(
        one.state !== 'succeeded' || one.elsewhere || hasGoneBack(one, trade),
        `${one.refundNo} succeeded only here`,
      );
    for (const [intent, effects] of effectsOf(trade))
      must(effects.length <= 1, `${intent} happened ${effects.length} times`);
    must(!trade || givenBack(trade) <= trade.amount, 'more went back than came');
    return wrong;
  });
}

function hasGoneBack(refund: RefundRow, trade: Trade | undefined): boolean {
  const isIts = (number: string) => readNumberAtChannel(number).refundNo === refund.refundNo;
  return (
    trade?.refunds.some(({ number, state, isForeign }) => state === 'succeeded' && (isForeign || isIts(number))) ??
    false
  );
}

/** Refunds of ours that happened, by what was wished: two numbers of one refund are one wish. */
function effectsOf(trade: Trade | undefined): Map<string, string[]> {
  const effects = new Map<string, string[]>();
  for (const { number, state, isForeign } of trade?.refunds ?? []) {
    if (isForeign || state !== 'succeeded') continue;
    const { refundNo } = readNumberAtChannel(number);
    effects.set(refundNo, [...(effects.get(refundNo) ?? []), number]);
  }
  return effects;
}

/** What a caller may rely on from now on, or what is wrong with its answer. */
export function toldBy({ name, about }: Deed, ended: Ended): { told: readonly string[]; wrong: Wrong } {
  if ('error' in ended) {
    const { error } = ended;
    if (!(error instanceof AppError)) return { told: [], wrong: [`${name} ends with ${String(error)}`] };
    if (error.code === 'order_already_paid' && name === 'close') return { told: [`paid ${about[0]}`], wrong: [] };
    return { told: [], wrong: [] };
  }
  const order = orderIn(ended.result);
  if (!order) return { told: [], wrong: [] };
  if (name === 'refund') {
    const { refund } = ended.result as { refund: RefundRow };
    return { told: [`refund ${refund.refundNo}`], wrong: [] };
  }
  if (order.state === 'paid' && order.paid > 0n) return { told: [`paid ${order.orderNo}`], wrong: [] };
  if (name === 'close') return { told: [`closed ${order.orderNo}`], wrong: [] };
  return { told: [], wrong: [] };
}

function orderIn(result: unknown): OrderRow | undefined {
  const found = result as { orderNo?: string; order?: OrderRow } | undefined;
  return found?.order ?? (found?.orderNo === undefined ? undefined : (found as OrderRow));
}

/** What holds when nothing is due any more and nobody does anything. */
export function wrongAtTheEnd(snapshot: Snapshot, truth: Truth, told: readonly string[]): Wrong {
  return booksOf(snapshot).flatMap(({ order, refunds, exceptions }) => {
    const { orderNo, state, paid, refunded } = order;
    const isListed = exceptions.some((one) => one.state === 'open');
    const wrong: string[] = [];
    const must = (holds: boolean, what: string) => {
      if (!holds && !isListed) wrong.push(`at the end ${orderNo} (${state}): ${what}`);
    };
    const trade = tradeOf(truth, orderNo);
    const came = trade?.state === 'paid' ? trade.amount : 0n;
    const went = trade ? givenBack(trade) : 0n;
    must(['paid', 'closed', 'failed'].includes(state), 'is open, and nothing is due');
    must(
      refunds.every((one) => !RESERVED.includes(one.state)),
      'has an open refund, and nothing is due',
    );
    const surplus = refunds
      .filter((one) => one.surplus && one.state === 'succeeded')
      .reduce((all, one) => all + one.amount, 0n);
    const elsewhere = refunds
      .filter((one) => one.elsewhere && one.origin !== 'channel' && one.state === 'succeeded')
      .reduce((all, one) => all + one.amount, 0n);
    // What came and went before anybody here heard of it leaves nothing behind.
    must(paid === came || (paid === 0n && came === went), `has ${paid}, the channel ${came}`);
    must(
      paid === 0n || refunded + surplus - elsewhere === went,
      `gave back ${refunded + surplus}, the channel ${went}`,
    );
    if (told.includes(`closed ${orderNo}`)) must(state === 'closed' && came === went, 'was told to be closed');
    if (told.includes(`paid ${orderNo}`)) must(paid > 0n, 'was told to be paid');
    for (const one of told) {
      const [what, number] = one.split(' ');
      if (what === 'refund')
        must(
          number !== undefined && (refunds.some(({ refundNo }) => refundNo === number) || !number.includes(orderNo)),
          `${number} is gone`,
        );
    }
    return wrong;
  });
}
