import type { PayWay } from '../payments/channel.ts';
import type { Clock } from './clock.ts';
import type { Deliver, Delivery, NotificationRecord, Notifications, SignedNotification } from './notification.ts';
import { type FaultName, type Faults, tamper } from './faults.ts';
import type { Core, ChannelSimulator } from './channel-simulator.ts';
import type { Ledger } from './ledger.ts';

/** How many recent deliveries of notifications are kept for `GET /sim/deliveries`. */
const KEPT_DELIVERIES = 5000;
/** The highest number of concurrent deliveries; further deliveries wait. */
const AT_ONCE = 32;
/** How long a receiver may take to respond (ms). */
const TIMEOUT_MS = 5000;
/** The real time before a first delivery (ms), so that the response of the call usually arrives first. */
const FIRST_MS = 100;

/** Creates the sender of notifications. `simulatorOf` returns the channel simulator that signs them. */
export function createNotifications(
  core: () => Core,
  simulatorOf: (payWay: PayWay) => ChannelSimulator,
  { ledger, clock, faults, deliver }: { ledger: Ledger; clock: Clock; faults: Faults; deliver: Deliver },
): Notifications {
  const deliveries: Delivery[] = [];
  const silenced = new Set<PayWay>();
  let isQuiet = false;
  const stopping = new AbortController();
  const turn = createTurnstile(AT_ONCE);

  const schedule = (notification: NotificationRecord, delayMs: number, scaled: boolean, isLost = false) => {
    notification.dueAt = clock.schedule(delayMs, () => attempt(notification, isLost), scaled);
  };
  const attempt = async (notification: NotificationRecord, isLost: boolean) => {
    if (notification.acknowledged) return;
    await deliverOnce(notification, isLost);
    const seconds = simulatorOf(notification.payWay).notificationSchedule[notification.attempts - 1];
    notification.dueAt = null;
    if (!notification.acknowledged && seconds !== undefined) schedule(notification, seconds * 1000, true);
    ledger.writeNotification(notification);
  };
  const deliverOnce = async (notification: NotificationRecord, isLost = false) => {
    notification.attempts += 1;
    const { payWay, account, orderNo } = notification;
    const strike = faults.draw({ payWay, account, call: 'notice', orderNo });
    const signed = await sign(notification, strike?.name);
    const dropped =
      isLost || silenced.has(payWay) ? 'notices off' : strike?.name === 'drop-notify' ? 'drop-notify' : null;
    if (strike?.name === 'duplicate-notify')
      await Promise.all([post(notification, signed, null), post(notification, signed, null)]);
    else await post(notification, signed, dropped);
  };
  const sign = async (notification: NotificationRecord, fault: FaultName | undefined): Promise<SignedNotification> => {
    const applied = fault === 'bad-notify-signature' ? 'wrong-key' : fault;
    const signed = await simulatorOf(notification.payWay).signNotification(core(), notification, applied);
    return fault === 'tampered' ? { ...signed, body: tamper(signed.body) } : signed;
  };
  const post = async (notification: NotificationRecord, signed: SignedNotification, dropped: string | null) => {
    const delivery = describe(notification, signed, dropped, new Date(clock.now()));
    deliveries.push(delivery);
    if (deliveries.length > KEPT_DELIVERIES) deliveries.shift();
    if (dropped !== null) return;
    const receipt = await turn(() => deliver(notification.url, signed, TIMEOUT_MS, stopping.signal));
    delivery.status = receipt.status;
    delivery.acknowledged =
      receipt.status !== null && simulatorOf(notification.payWay).acknowledged(receipt.status, receipt.body);
    notification.acknowledged ||= delivery.acknowledged;
  };

  return {
    deliveries,
    send({ id: tradeId, payWay, account, orderNo }, draft, delayMs = 0) {
      const notification: NotificationRecord = {
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
      // If the channel's notifications are disabled now, the first delivery is dropped. It is dropped even if the
      // notifications are enabled again before the delivery is due.
      const isLost = silenced.has(payWay);
      if (isQuiet) notification.dueAt = null;
      else if (delayMs === 0) schedule(notification, FIRST_MS, false, isLost);
      else schedule(notification, delayMs, true, isLost);
      ledger.writeNotification(notification);
    },
    async repeat(trade, times, event) {
      const mine = [...ledger.notifications.values()].filter(
        (notification) => notification.tradeId === trade.id && (event === undefined || notification.event === event),
      );
      await Promise.all(mine.flatMap((notification) => Array.from({ length: times }, () => deliverOnce(notification))));
      for (const notification of mine) ledger.writeNotification(notification);
      return mine.length * times;
    },
    quietly(action) {
      isQuiet = true;
      try {
        return action();
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
      for (const notification of ledger.notifications.values()) {
        if (!notification.acknowledged && notification.dueAt !== null)
          schedule(notification, Math.max(FIRST_MS, notification.dueAt - clock.now()), false);
      }
    },
    stop: () => stopping.abort(),
  };
}

function describe(
  notification: NotificationRecord,
  { headers, body }: SignedNotification,
  dropped: string | null,
  at: Date,
): Delivery {
  const { id: notificationId, payWay, account, orderNo, event, url, attempts: attempt } = notification;
  const text = { body: body.toString('utf8'), bodyBase64: body.toString('base64') };
  const outcome = { dropped, status: null, acknowledged: false };
  return {
    notificationId,
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

/** Runs at most `width` tasks at once. */
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
