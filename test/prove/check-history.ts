// Decides whether a recorded history is possible: npm run prove -- --history FILE
//
// The input has one JSON line per event: the request of a client (`invoke`) and its end (`ok`; `fail`: refused for certain; `info`:
// unknown), the channel's `ledger`, and, after the event `drained`, the service's final response about every order. The file imports
// nothing. "Before" means that one operation had ended when the other began; overlapping operations may have happened in any order.
// Amounts are in minor units.

const PAID = ['paid', 'partially_refunded', 'refunded'];
const ALIVE = ['created', 'pending', 'paid', 'partially_refunded'];

// oxlint-disable-next-line typescript/no-explicit-any -- a file may contain any value, and missing members are undefined
type Facts = Record<string, any>;
export type Line = { index: number; type: string; process: number | string; f: string; value: Facts; time: number };
export type Violation = { rule: string; words: string; events: number[] };

/** A request and its response, from event to event. One that never ended may still take effect. */
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
  if (drained === Infinity) blame('the final state is missing: the event "drained" was not recorded');
  return { operations, ledger, final, blame };
}

const isBefore = (one: Operation, other: Operation): boolean => one.ended < other.began;
const firstOf = (all: readonly Operation[]) => all.toSorted((a, b) => a.ended - b.ended)[0];

/** Groups by name; an item without a name is left out. */
function groupBy<T>(all: Iterable<T>, nameOf: (one: T) => string | undefined): [string | undefined, T[]][] {
  return [...Map.groupBy(all, nameOf)].filter(([name]) => name !== undefined);
}

/** Counts the distinct objects requested: requests with one number or key are one, and refused ones count zero. */
function countIntents(asks: readonly Operation[], number: string): number {
  const possible = asks.filter(({ end }) => end !== 'fail');
  return new Set(possible.map(({ asked, began }) => asked[number] ?? asked.key ?? `#${began}`)).size;
}

/** Every result acknowledged to a client exists at the end as requested. */
function nothingAcknowledgedIsLost({ operations, ledger, final, blame }: History): void {
  for (const [orderNo, { index }] of ledger)
    if (!final.has(orderNo)) blame(`the channel has ${orderNo}, and the service does not report it`, index);
  const answers = operations.filter(({ f }) => f !== 'pay');
  const told = answers.filter(({ end, told: { orderNo } }) => end === 'ok' && orderNo);
  const unknown = new Map(answers.filter((one) => one.told.http === 404).map((one) => [one.asked.orderNo, one]));
  for (const [orderNo, all] of groupBy(told, (one) => one.told.orderNo)) {
    const [first, order, absent] = [firstOf(all)!, final.get(orderNo!), unknown.get(orderNo)];
    if (absent && isBefore(first, absent)) blame(`${orderNo} was reported and then unknown`, first, absent);
    if (!order) blame(`${orderNo} was reported and is missing at the end`, first);
    for (const one of order ? all : []) {
      const isAs = (name: string) => (one.asked[name] ?? null) === order!.told[name];
      if (one.f === 'place' && !['shop', 'payWay', 'amount', 'merchantOrderNo'].every(isAs))
        blame(`${orderNo} differs from the request`, one, order!);
      if (one.told.refundNo === undefined) continue;
      const { refundNo, refundStatus } = one.told;
      const refund = order!.told.refunds.find((known: Facts) => known.refundNo === refundNo);
      const isOther = one.f === 'refund' && refund?.amount !== one.asked.amount;
      if (!refund) blame(`${refundNo} was reported and is missing at the end`, one, order!);
      else if (isOther) blame(`${refundNo} differs from the request`, one, order!);
      else if (refundStatus === 'succeeded' && refund.status !== refundStatus)
        blame(`${refundNo} was reported as succeeded and is ${refund.status}`, one, order!);
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
    if (all.length > asked) blame(`${shop} requested ${asked} orders without a number and has ${all.length}`);
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
        blame(`${orderNo}: ${all.length} refunds of ${amount}, ${asked} requested`, ...asks, order);
    }
    const done = refunds.filter(({ status }: Facts) => status === 'succeeded').length;
    const { payments = 0, returns, index } = sums(order);
    if (payments > 1) blame(`${orderNo} was paid ${payments} times`, index);
    if (returns !== done) blame(`${orderNo}: ${returns} refunds at the channel, ${done} reported`, order, index);
  }
}

/** After an order was reported as paid, no query reports it as unpaid; nor is it reported before the payment. */
function paidStaysPaid({ operations, ledger, blame }: History): void {
  // A key replays the first answer unchanged, so it shows constant facts, not the current state.
  const answers = operations.filter(({ told }) => told.orderNo && !told.replayed);
  for (const [orderNo, all] of groupBy(answers, ({ told }) => told.orderNo)) {
    const tellPaid = all.filter(({ told }) => PAID.includes(told.status) || told.code === 'order_already_paid');
    const first = firstOf(tellPaid);
    if (!first) continue;
    // A refunded late payment leaves a closed order "refunded", with nothing to refund, and "closed" when its refund was returned.
    const refundable = firstOf(tellPaid.filter(({ told }) => told.status !== 'refunded'));
    for (const one of all) {
      const was = ['closed', 'failed'].includes(one.told.status) ? refundable : first;
      if (one.told.status && !PAID.includes(one.told.status) && was && isBefore(was, one))
        blame(`${orderNo} was reported as paid, then ${one.told.status}`, was, one);
      if (one.told.code === 'order_not_paid' && refundable && isBefore(refundable, one))
        blame(`${orderNo} was reported as paid, then not paid`, refundable, one);
    }
    const { paid = 0, paidAt = Infinity, index } = ledger.get(orderNo!) ?? {};
    if (paid === 0 || paidAt > first.until)
      blame(`${orderNo} was reported as paid before the channel had a payment`, first, index ?? first);
  }
}

/** Refunds never exceed the payment; at the end the reported sums are the channel's. */
function sumsAgree({ operations, ledger, final, blame }: History): void {
  for (const one of operations)
    if (one.told.refunded > one.told.amount) blame(`${one.told.orderNo} is reported with more refunded than paid`, one);
  for (const [orderNo, { paid, refunded, index }] of ledger) {
    if (refunded > paid) blame(`${orderNo}: the channel took ${paid} and refunded ${refunded}`, index);
    const order = final.get(orderNo);
    if (!order) continue;
    const { status, amount, refunds } = order.told;
    const done: Facts[] = refunds.filter((one: Facts) => one.status === 'succeeded');
    const given = done.reduce((sum, one) => sum + one.amount, 0);
    const channel = `the channel took ${paid} and refunded ${refunded}`;
    if (given !== refunded) blame(`${orderNo}: ${given} reported as refunded, and ${channel}`, order, index);
    if (PAID.includes(status) ? paid !== amount || order.told.refunded !== refunded : paid > refunded)
      blame(`${orderNo} of ${amount} is ${status}, ${order.told.refunded} refunded, and ${channel}`, order, index);
  }
}

/** A revoked token is refused from the response to its revocation on, as documented. */
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

/** Returns every violation of a history; none means that it is possible. */
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
