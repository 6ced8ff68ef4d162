import { listMessages, MISSING, type ReadMessage } from '../db/queries/messages.ts';
import type { Asker, Ports } from './ports.ts';
import { findOrder } from './read.ts';

/** One line of an order's story. */
export interface TimelineEntry {
  at: Date;
  kind: 'move' | 'message' | 'exception' | 'event' | 'delivery';
  /** What happened, in a few words. */
  summary: string;
  detail: Record<string, unknown>;
}

/** Everything that happened to an order, oldest first: moves with their rule, channel messages, exceptions, events and deliveries. */
export function orderTimeline({ store }: Pick<Ports, 'store'>) {
  return async (asker: Asker, orderNo: string): Promise<TimelineEntry[]> =>
    store.read(async (tx) => {
      await findOrder(tx, orderNo, asker.owner);
      const moves = await tx.moves.list({ orderNo }, { orderBy: { sequence: 'asc' } });
      const messages = await listMessages(tx, orderNo, 1000);
      const exceptions = await tx.exceptions.list({ orderNo });
      const refunds = await tx.refunds.list({ orderNo });
      const disputes = await tx.disputes.list({ orderNo });
      const numbers = [
        orderNo,
        ...refunds.map(({ refundNo }) => refundNo),
        ...disputes.map(({ disputeNo }) => disputeNo),
      ];
      const events = await tx.events.list({ objectNo: numbers }, { orderBy: { sequence: 'asc' } });
      const deliveries = events.length === 0 ? [] : await tx.deliveries.list({ eventId: events.map(({ id }) => id) });
      const entries: TimelineEntry[] = [
        ...moves.map(({ at, ...move }) => ({
          at,
          kind: 'move' as const,
          summary: `${move.refundNo ? `refund ${move.refundNo} ` : ''}${move.fromState ?? '–'} → ${move.toState} (${move.cause})`,
          detail: { ...move, id: Number(move.id) },
        })),
        ...messages.map(({ at, ...message }) => ({
          at,
          kind: 'message' as const,
          summary: messageWords(message),
          detail: { ...message, id: Number(message.id) },
        })),
        ...exceptions.map((exception) => ({
          at: exception.createdAt,
          kind: 'exception' as const,
          summary: `exception ${exception.kind} (${exception.state})`,
          detail: {
            id: exception.id,
            kind: exception.kind,
            state: exception.state,
            refundNo: exception.refundNo,
            resolution: exception.resolution,
            reason: exception.reason,
            detail: exception.detail,
          },
        })),
        ...events.map((event) => ({
          at: event.createdAt,
          kind: 'event' as const,
          summary: `event ${event.type}`,
          detail: { id: event.id, type: event.type, sequence: Number(event.sequence) },
        })),
        ...deliveries.map((delivery) => ({
          at: delivery.createdAt,
          kind: 'delivery' as const,
          summary: `delivery to ${delivery.url} ${delivery.state}`,
          detail: {
            id: delivery.id,
            eventId: delivery.eventId,
            state: delivery.state,
            attempts: delivery.attempts,
            lastStatus: delivery.lastStatus,
            lastError: delivery.lastError,
            nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
          },
        })),
      ];
      return entries.toSorted((a, b) => a.at.getTime() - b.at.getTime());
    });
}

function messageWords({ direction, payWay, call, status, note, times, lastAt }: Omit<ReadMessage, 'at'>): string {
  if (call === MISSING) return `${times === 1 ? 'a message is' : `${times} messages are`} missing here${until(lastAt)}`;
  const words = `${direction === 'out' ? '→' : '←'} ${payWay} ${call} ${status ?? note ?? ''}`.trim();
  return times === 1 ? words : `${words}, ${times} times${until(lastAt)}`;
}

function until(lastAt: Date | null): string {
  return lastAt === null ? '' : ` until ${lastAt.toISOString()}`;
}
