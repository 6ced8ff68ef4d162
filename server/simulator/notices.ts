import type { PayWay } from '../payments/channel.ts';
import type { Clock } from './clock.ts';
import type { Deliver, Delivery, NoticeRecord, Notices, SignedNotice } from './notice.ts';
import { type FaultName, type Faults, tamper } from './faults.ts';
import type { Core, Half } from './half.ts';
import type { Ledger } from './ledger.ts';

/** Deliveries kept for `GET /sim/deliveries`. */
const KEPT_DELIVERIES = 5000;
/** Deliveries that may be under way at once; the others wait. */
const AT_ONCE = 32;
/** How long a receiver may take. */
const TIMEOUT_MS = 5000;
/** Real time between a fact and its first notice, so that the answer of the call usually comes first. */
const FIRST_MS = 100;

/** The notices of `core`; `halfOf` finds who writes and signs them. */
export function createNotices(
  core: () => Core,
  halfOf: (payWay: PayWay) => Half,
  { ledger, clock, faults, deliver }: { ledger: Ledger; clock: Clock; faults: Faults; deliver: Deliver },
): Notices {
  const deliveries: Delivery[] = [];
  const silenced = new Set<PayWay>();
  let isQuiet = false;
  const stopping = new AbortController();
  const turn = createTurnstile(AT_ONCE);

  const schedule = (notice: NoticeRecord, delayMs: number, scaled: boolean, isLost = false) => {
    notice.dueAt = clock.schedule(delayMs, () => attempt(notice, isLost), scaled);
  };
  const attempt = async (notice: NoticeRecord, isLost: boolean) => {
    if (notice.acknowledged) return;
    await deliverOnce(notice, isLost);
    const seconds = halfOf(notice.payWay).noticeSchedule[notice.attempts - 1];
    notice.dueAt = null;
    if (!notice.acknowledged && seconds !== undefined) schedule(notice, seconds * 1000, true);
    ledger.writeNotice(notice);
  };
  const deliverOnce = async (notice: NoticeRecord, isLost = false) => {
    notice.attempts += 1;
    const { payWay, account, orderNo } = notice;
    const strike = faults.draw({ payWay, account, call: 'notice', orderNo });
    const signed = await sign(notice, strike?.name);
    const dropped =
      isLost || silenced.has(payWay) ? 'notices off' : strike?.name === 'drop-notify' ? 'drop-notify' : null;
    if (strike?.name === 'duplicate-notify')
      await Promise.all([post(notice, signed, null), post(notice, signed, null)]);
    else await post(notice, signed, dropped);
  };
  const sign = async (notice: NoticeRecord, fault: FaultName | undefined): Promise<SignedNotice> => {
    const asked = fault === 'bad-notify-signature' ? 'wrong-key' : fault;
    const signed = await halfOf(notice.payWay).signNotice(core(), notice, asked);
    return fault === 'tampered' ? { ...signed, body: tamper(signed.body) } : signed;
  };
  const post = async (notice: NoticeRecord, signed: SignedNotice, dropped: string | null) => {
    const delivery = describe(notice, signed, dropped, new Date(clock.now()));
    deliveries.push(delivery);
    if (deliveries.length > KEPT_DELIVERIES) deliveries.shift();
    if (dropped !== null) return;
    const receipt = await turn(() => deliver(notice.url, signed, TIMEOUT_MS, stopping.signal));
    delivery.status = receipt.status;
    delivery.acknowledged = receipt.status !== null && halfOf(notice.payWay).acknowledged(receipt.status, receipt.body);
    notice.acknowledged ||= delivery.acknowledged;
  };

  return {
    deliveries,
    send({ id: tradeId, payWay, account, orderNo }, draft, delayMs = 0) {
      const notice: NoticeRecord = {
        ...draft,
        payWay,
        account,
        tradeId,
        orderNo,
        createdAt: clock.now(),
        dueAt: null,
        attempts: 0,
        acknowledged: false,
      };
      // What happens while notices are off is not told the first time, however soon they are on again.
      const isLost = silenced.has(payWay);
      if (isQuiet) notice.dueAt = null;
      else if (delayMs === 0) schedule(notice, FIRST_MS, false, isLost);
      else schedule(notice, delayMs, true, isLost);
      ledger.writeNotice(notice);
    },
    async repeat(trade, times, event) {
      const mine = [...ledger.notices.values()].filter(
        (notice) => notice.tradeId === trade.id && (event === undefined || notice.event === event),
      );
      await Promise.all(mine.flatMap((notice) => Array.from({ length: times }, () => deliverOnce(notice))));
      for (const notice of mine) ledger.writeNotice(notice);
      return mine.length * times;
    },
    quietly(deed) {
      isQuiet = true;
      try {
        return deed();
      } finally {
        isQuiet = false;
      }
    },
    enable(payWay, enabled) {
      if (enabled) silenced.delete(payWay);
      else silenced.add(payWay);
    },
    clear: () => void deliveries.splice(0),
    resume() {
      for (const notice of ledger.notices.values()) {
        if (!notice.acknowledged && notice.dueAt !== null)
          schedule(notice, Math.max(FIRST_MS, notice.dueAt - clock.now()), false);
      }
    },
    stop: () => stopping.abort(),
  };
}

function describe(notice: NoticeRecord, { headers, body }: SignedNotice, dropped: string | null, at: Date): Delivery {
  const { id: noticeId, payWay, account, orderNo, event, url, attempts: attempt } = notice;
  const text = { body: body.toString('utf8'), bodyBase64: body.toString('base64') };
  const outcome = { dropped, status: null, acknowledged: false };
  return {
    noticeId,
    payWay,
    account,
    orderNo,
    event,
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ...text,
    at: at.toISOString(),
    attempt,
    ...outcome,
  };
}

/** Lets `width` tasks run at once. */
function createTurnstile(width: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = width;
  return async (task) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
