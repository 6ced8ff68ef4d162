import type { DeliveryRow, EventRow } from '../db/entities/events.ts';
import { cancelDeliveries } from '../db/queries/deliveries.ts';
import type { Tx } from '../db/store.ts';
import { type Attempt, attempt, isSuccess } from './attempt.ts';
import type { EventPorts } from './ports.ts';
import { nextAttempt } from './schedule.ts';
import { signingSecrets, webhookOf } from './secrets.ts';
import { inSpan } from '../tracing.ts';
import { noteWork, type Work } from '../work.ts';

/** The receiver says that it wants no more (RFC 9110 §15.5.11; Standard Webhooks asks senders to stop). */
const GONE = 410;

/** Sends one delivery that the caller has claimed, and writes down how it went; the next time is in the row. */
export function deliverEvent(ports: EventPorts) {
  const { store, now, sealing, checkpoint } = ports;
  return async (deliveryId: string): Promise<void> => {
    const due = await store.transaction((tx) => prepare(tx, ports, deliveryId));
    if (!due) return;
    checkpoint('deliver.claimed');
    const { delivery, event, webhook } = due;
    const { clientId } = delivery;
    noteWork({ clientId, ...numbersOf(event) });
    const about = { 'pay.client_id': clientId, 'pay.event': event.type, 'pay.object_no': event.objectNo };
    await inSpan('webhook', { kind: 'client', parent: event.traceParent, attributes: about }, async (span) => {
      const secrets = signingSecrets(sealing, webhook, now());
      const tried = await attempt(ports, delivery.url, event, secrets);
      span?.setAttribute('http.response.status_code', tried.status ?? 0);
      checkpoint('deliver.sent');
      ports.tried(tried.status === null ? 'unanswered' : isSuccess(tried.status) ? 'delivered' : 'refused');
      await store.transaction((tx) => settle(tx, delivery, tried, now()));
    });
  };
}

/** The order that it is about, and the refund. */
function numbersOf({ payload }: EventRow): Pick<Work, 'orderNo' | 'refundNo'> {
  const { orderNo, refundNo } = payload;
  return {
    ...(typeof orderNo === 'string' && { orderNo }),
    ...(typeof refundNo === 'string' && { refundNo }),
  };
}

/** What is needed to send; undefined when there is nothing to send any more (then the row says so). */
async function prepare(tx: Tx, ports: EventPorts, id: string) {
  const delivery = await tx.deliveries.find({ id, state: 'pending' });
  const event = delivery && (await tx.events.find({ id: delivery.eventId }));
  if (!delivery || !event) return undefined;
  const webhook = await webhookOf(tx, ports, delivery.clientId);
  if (delivery.target === 'order') return { delivery, event, webhook };
  if (webhook.enabled && webhook.url !== null)
    return { delivery: { ...delivery, url: webhook.url }, event, webhook } satisfies {
      delivery: DeliveryRow;
      event: EventRow;
      webhook: typeof webhook;
    };
  const finished = { nextAttemptAt: null, leasedUntil: null, finishedAt: ports.now() };
  await tx.deliveries.update({ id, state: 'pending' }, { state: 'cancelled', ...finished });
  return undefined;
}

async function settle(tx: Tx, delivery: DeliveryRow, tried: Attempt, now: Date): Promise<void> {
  const { id, url, clientId } = delivery;
  const isGone = tried.status === GONE && delivery.target === 'webhook';
  // Webhook before delivery (server/README.md, "Locks"): two deliveries that hear of it at once wait here.
  if (isGone) await tx.webhooks.lock({ clientId });
  const current = await tx.deliveries.lock({ id });
  if (!current) return;
  await tx.deliveryAttempts.insert({ deliveryId: id, ...tried });
  const attempts = current.attempts + 1;
  const seen = { url, attempts, lastStatus: tried.status, lastError: tried.error, leasedUntil: null };
  // Two replicas may both have sent when a lease ran out: a success is never undone by the other's failure.
  if (current.state === 'delivered') return void (await tx.deliveries.update({ id }, { attempts }));
  const next = tried.status === GONE ? null : nextAttempt(attempts, current.createdAt, now);
  const isDelivered = isSuccess(tried.status);
  const goesOn = !isDelivered && next !== null && current.state === 'pending';
  await tx.deliveries.update(
    { id },
    goesOn
      ? { ...seen, nextAttemptAt: next }
      : { ...seen, nextAttemptAt: null, state: isDelivered ? 'delivered' : 'failed', finishedAt: now },
  );
  if (isGone) await disable(tx, delivery, now);
}

async function disable(tx: Tx, { clientId, url }: DeliveryRow, now: Date): Promise<void> {
  const patch = { enabled: false, disabledReason: 'The receiver answered 410 Gone.', updatedAt: now };
  if ((await tx.webhooks.update({ clientId, url, enabled: true }, patch)) === 0) return;
  await cancelDeliveries(tx, clientId, now);
}
