// Decides whether a recorded history could have happened: npm run prove -- --history FILE
//
// It is given one JSON line per event and nothing else: what clients asked (`invoke`) and how that ended (`ok`; `fail`: refused for
// certain; `info`: nobody knows), what the channel has in its `ledger`, and, behind the event `drained`, what the service told of
// every order at the end. It imports nothing. "Before" means that one operation had ended when the other began;
// whatever overlaps may have happened in any order. Amounts are in the smallest unit of the currency.

const PAID = ['paid', 'partially_refunded', 'refunded'];
const ALIVE = ['created', 'pending', 'paid', 'partially_refunded'];

// oxlint-disable-next-line typescript/no-explicit-any -- a file may say anything, and what is missing is undefined
type Facts = Record<string, any>;
export type Line = { index: number; type: string; process: number | string; f: string; value: Facts; time: number };
export type Violation = { rule: string; words: string; events: number[] };

/** What was asked and what was told, from event to event. One that never ended may still take effect. */
type Operation = { f: string; end: string; asked: Facts; told: Facts; began: number; ended: number; until: number };
type History = { operations: Operation[]; ledger: Map<string, Facts>; final: Map<string, Operation>; blame: Blame };
type Blame = (words: string, ...shownBy: (Operation | number)[]) => void;

function readHistory(lines: readonly Line[], blame: Blame): History {
  const operations: Operation[] = [];
  const running = new Map<number, Operation>();
  const ledger = new Map<string, Facts>();
  const final = new Map<string, Operation>();
  let drained = Infinity;
  for (const { index, type, process, f, value, time } of lines.toSorted((a, b) => a.index - b.index)) {
    if (f === 'ledger') ledger.set(value.orderNo, { ...value, index });
    if (f === 'drained') final.clear();
    if (f === 'drained') drained = index;
    if (typeof process !== 'number') continue;
    const known = running.get(process);
    if ((type === 'invoke') === (known !== undefined)) blame(`process ${process} is out of turn`, index);
    if (type === 'invoke') {
      const begun = { f, end: 'info', asked: value, told: {}, began: index, ended: Infinity, until: Infinity };
      running.set(process, begun);
      operations.push(begun);
    } else if (known) {
      Object.assign(known, { end: type, told: value, ended: index, until: time });
      running.delete(process);
      if (f === 'query' && type === 'ok' && known.began > drained) final.set(value.orderNo, known);
    }
  }
  if (drained === Infinity) blame('nobody looked at the end: the event "drained" is missing');
  return { operations, ledger, final, blame };
}

const isBefore = (one: Operation, other: Operation): boolean => one.ended < other.began;
const firstOf = (all: readonly Operation[]) => all.toSorted((a, b) => a.ended - b.ended)[0];

/** In groups of one name; what has none is in no group. */
function groupBy<T>(all: Iterable<T>, nameOf: (one: T) => string | undefined): [string | undefined, T[]][] {
  return [...Map.groupBy(all, nameOf)].filter(([name]) => name !== undefined);
}

/** How many things were asked for: what bears one number or key is one, and what was refused for certain is none. */
function countIntents(asks: readonly Operation[], number: string): number {
  const possible = asks.filter(({ end }) => end !== 'fail');
  return new Set(possible.map(({ asked, began }) => asked[number] ?? asked.key ?? `#${began}`)).size;
}

/** Whatever the service acknowledged to a client is there at the end, and is what was asked for. */
function nothingAcknowledgedIsLost({ operations, ledger, final, blame }: History): void {
  for (const [orderNo, { index }] of ledger)
    if (!final.has(orderNo)) blame(`the channel has ${orderNo}, and the service tells nothing of it`, index);
  const answers = operations.filter(({ f }) => f !== 'pay');
  const told = answers.filter(({ end, told: { orderNo } }) => end === 'ok' && orderNo);
  const unknown = new Map(answers.filter((one) => one.told.http === 404).map((one) => [one.asked.orderNo, one]));
  for (const [orderNo, all] of groupBy(told, (one) => one.told.orderNo)) {
    const [first, order, absent] = [firstOf(all)!, final.get(orderNo!), unknown.get(orderNo)];
    if (absent && isBefore(first, absent)) blame(`${orderNo} was told and then unknown`, first, absent);
    if (!order) blame(`${orderNo} was told and is not there at the end`, first);
    for (const one of order ? all : []) {
      const isAs = (name: string) => (one.asked[name] ?? null) === order!.told[name];
      if (one.f === 'place' && !['shop', 'payWay', 'amount', 'merchantOrderNo'].every(isAs))
        blame(`${orderNo} is not what was asked for`, one, order!);
      if (one.told.refundNo === undefined) continue;
      const { refundNo, refundStatus } = one.told;
      const refund = order!.told.refunds.find((known: Facts) => known.refundNo === refundNo);
      const isOther = one.f === 'refund' && refund?.amount !== one.asked.amount;
      if (!refund) blame(`${refundNo} was told and is not there at the end`, one, order!);
      else if (isOther) blame(`${refundNo} is not what was asked for`, one, order!);
      else if (refundStatus === 'succeeded' && refund.status !== refundStatus)
        blame(`${refundNo} was told succeeded and is ${refund.status}`, one, order!);
    }
  }
}

/** One key or number is one order or refund, one request is at most one, and an order is paid once. */
function nothingHappensTwice({ operations, ledger, final, blame }: History): void {
  for (const name of ['key', 'merchantRefundNo']) {
    const asks = operations.filter(({ f, end, asked }) => end === 'ok' && /^(place|refund)$/.test(f) && asked[name]);
    for (const [what, same] of groupBy(asks, ({ f, asked }) => `${f} under ${name} ${asked[name]} of ${asked.shop}`))
      if (new Set(same.map(({ told }) => told.refundNo ?? told.orderNo)).size > 1)
        blame(`${what} became several`, ...same);
  }
  const orders = [...final.values()];
  const sums = ({ told }: Operation): Facts => ledger.get(told.orderNo) ?? { paid: 0, refunded: 0, returns: 0 };
  const counting = orders.filter((one) => ALIVE.includes(one.told.status) || sums(one).paid > sums(one).refunded);
  const numberOf = ({ shop, merchantOrderNo }: Facts) =>
    merchantOrderNo ? `${merchantOrderNo} of ${shop}` : undefined;
  for (const [what, same] of groupBy(counting, ({ told }) => numberOf(told)))
    if (same.length > 1) blame(`merchantOrderNo ${what} has several orders`, ...same);
  const places = operations.filter(({ f, asked }) => f === 'place' && !asked.merchantOrderNo);
  for (const [shop, all] of groupBy(orders, ({ told }) => (told.merchantOrderNo ? undefined : told.shop))) {
    const asked = countIntents(
      places.filter((one) => one.asked.shop === shop),
      'key',
    );
    if (all.length > asked) blame(`${shop} asked for ${asked} orders without a number and has ${all.length}`);
  }
  const refundAsks = Map.groupBy(
    operations.filter(({ f }) => f === 'refund'),
    ({ asked }) => asked.orderNo,
  );
  for (const order of orders) {
    const { orderNo, refunds } = order.told;
    const byMerchant: Facts[] = refunds.filter(({ origin }: Facts) => origin === 'merchant');
    for (const [amount, all] of groupBy(byMerchant, (one) => String(one.amount))) {
      const asks = (refundAsks.get(orderNo) ?? []).filter(({ asked }) => String(asked.amount) === amount);
      const asked = countIntents(asks, 'merchantRefundNo');
      if (all.length > asked)
        blame(`${orderNo}: ${all.length} refunds of ${amount}, asked for ${asked}`, ...asks, order);
    }
    const done = refunds.filter(({ status }: Facts) => status === 'succeeded').length;
    const { payments = 0, returns, index } = sums(order);
    if (payments > 1) blame(`${orderNo} was paid ${payments} times`, index);
    if (returns !== done) blame(`${orderNo}: ${returns} refunds at the channel, ${done} told`, order, index);
  }
}

/** After somebody was told that an order is paid, nobody who asks is told otherwise; nor is it told before it was. */
function paidStaysPaid({ operations, ledger, blame }: History): void {
  // A key replays the first answer as it was: it tells what is the same, not what is now.
  const answers = operations.filter(({ told }) => told.orderNo && !told.replayed);
  for (const [orderNo, all] of groupBy(answers, ({ told }) => told.orderNo)) {
    const tellPaid = all.filter(({ told }) => PAID.includes(told.status) || told.code === 'order_already_paid');
    const first = firstOf(tellPaid);
    if (!first) continue;
    // Late money that went back leaves a closed order "refunded", with nothing to refund, and "closed" when its refund came back.
    const refundable = firstOf(tellPaid.filter(({ told }) => told.status !== 'refunded'));
    for (const one of all) {
      const was = ['closed', 'failed'].includes(one.told.status) ? refundable : first;
      if (one.told.status && !PAID.includes(one.told.status) && was && isBefore(was, one))
        blame(`${orderNo} was told paid, then ${one.told.status}`, was, one);
      if (one.told.code === 'order_not_paid' && refundable && isBefore(refundable, one))
        blame(`${orderNo} was told paid, then not paid`, refundable, one);
    }
    const { paid = 0, paidAt = Infinity, index } = ledger.get(orderNo!) ?? {};
    if (paid === 0 || paidAt > first.until)
      blame(`${orderNo} was told paid, and the channel had nothing yet`, first, index ?? first);
  }
}

/** Never is more given back than was paid; at the end what is told is what the channel has. */
function sumsAgree({ operations, ledger, final, blame }: History): void {
  for (const one of operations)
    if (one.told.refunded > one.told.amount) blame(`${one.told.orderNo} is told to have more refunded than paid`, one);
  for (const [orderNo, { paid, refunded, index }] of ledger) {
    if (refunded > paid) blame(`${orderNo}: the channel took ${paid} and gave back ${refunded}`, index);
    const order = final.get(orderNo);
    if (!order) continue;
    const { status, amount, refunds } = order.told;
    const done: Facts[] = refunds.filter((one: Facts) => one.status === 'succeeded');
    const given = done.reduce((sum, one) => sum + one.amount, 0);
    const channel = `the channel took ${paid} and gave back ${refunded}`;
    if (given !== refunded) blame(`${orderNo}: ${given} told as given back, and ${channel}`, order, index);
    if (PAID.includes(status) ? paid !== amount || order.told.refunded !== refunded : paid > refunded)
      blame(`${orderNo} of ${amount} is told ${status}, ${order.told.refunded} refunded, and ${channel}`, order, index);
  }
}

/** Nothing is done for a token once its revocation was answered: that is at once, as the service documents it. */
function revokedTokensAreDead({ operations, blame }: History): void {
  const revocations = operations.filter(({ f, end }) => f === 'revoke-token' && end === 'ok').toReversed();
  const dead = new Map<string, Operation>();
  for (const one of revocations) for (const token of one.asked.tokens) dead.set(token, one);
  for (const one of operations) {
    const revoked = dead.get(one.asked.token);
    if (revoked && one.end === 'ok' && isBefore(revoked, one))
      blame(`${one.f} was done for ${one.asked.token}, which was revoked`, revoked, one);
  }
}

const RULES = { nothingAcknowledgedIsLost, nothingHappensTwice, paidStaysPaid, sumsAgree, revokedTokensAreDead };

/** Every violation of a history; none means that it could have happened. */
export function checkHistory(lines: readonly Line[]): Violation[] {
  const violations: Violation[] = [];
  const blameFor =
    (rule: string): Blame =>
    (words, ...shownBy) => {
      const events = shownBy.flatMap((one) => (typeof one === 'object' ? [one.began, one.ended] : one));
      violations.push({ rule, words, events: events.filter(Number.isFinite) });
    };
  const history = readHistory(lines, blameFor('wellFormed'));
  for (const [name, rule] of Object.entries(RULES)) rule({ ...history, blame: blameFor(name) });
  return violations;
}
