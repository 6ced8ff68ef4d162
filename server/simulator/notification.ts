/** Defines notifications and their deliveries (attempts to send them). Posts a notification to the merchant. */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { PayWay } from '../payments/channel.ts';
import type { Trade } from './trade.ts';

/** A message of a channel to a merchant. Times are milliseconds on the simulated clock. */
export interface NotificationRecord {
  /** The channel's id of the message; the same for every delivery. */
  id: string;
  payWay: PayWay;
  account: string;
  tradeId: string;
  orderNo: string;
  /** The channel's own name for this type of event. */
  event: string;
  url: string;
  /** The content of the message as JSON data, fixed when the notification was created. */
  facts: Record<string, unknown>;
  createdAt: number;
  dueAt: number | null;
  attempts: number;
  acknowledged: boolean;
}

interface NotificationDraft {
  id: string;
  event: string;
  url: string;
  facts: Record<string, unknown>;
}

export interface SignedNotification {
  headers: Record<string, string>;
  body: Buffer;
}

/**
 * One delivery (one attempt to send a notification). It is recorded so that tests can send it again or alter it. Header
 * names are in lower case. `bodyBase64` holds the exact bytes of the body, and `body` holds them as text.
 */
export interface Delivery {
  notificationId: string;
  payWay: PayWay;
  account: string;
  orderNo: string;
  event: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  bodyBase64: string;
  at: string;
  attempt: number;
  /** The reason why the delivery was not sent; null if it was sent. */
  dropped: string | null;
  /** HTTP status of the receiver's response; null if no response arrived. */
  status: number | null;
  acknowledged: boolean;
}

export interface Notifications {
  readonly deliveries: readonly Delivery[];
  /** Creates a notification. It is delivered almost immediately, or after `delayMs` multiplied by the time factor. */
  send(trade: Trade, draft: NotificationDraft, delayMs?: number): void;
  /**
   * Delivers every notification of a trade again, `times` times each. With `event`, it delivers only the notifications
   * of this event type. Returns the number of deliveries.
   */
  repeat(trade: Trade, times: number, event?: string): Promise<number>;
  /** Runs an action; the notifications that it creates are stored but not sent. `repeat` can send them later. */
  quietly<T>(action: () => T): T;
  /** While notifications are disabled, due deliveries are not sent, but each repetition is still scheduled. */
  enable(payWay: PayWay, enabled: boolean): void;
  clear(): void;
  /** Resumes the unacknowledged notifications of an earlier process. */
  resume(): void;
  /** Aborts running deliveries. */
  stop(): void;
}

/** The response of the merchant to a notification. `status` is null if no response arrived in time. */
export interface Receipt {
  status: number | null;
  body: string;
}

/** Posts a notification once, within `timeoutMs`. Never throws; does not follow redirects. */
export type Deliver = (
  url: string,
  notification: SignedNotification,
  timeoutMs: number,
  stop: AbortSignal,
) => Promise<Receipt>;

const MOST_BYTES = 64 * 1024;

export const deliver: Deliver = (url, { headers, body }, timeoutMs, stop) => {
  return new Promise((resolve) => {
    const nothing = () => resolve({ status: null, body: '' });
    const send = url.startsWith('https:') ? tlsRequest : plainRequest;
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]);
    try {
      const sent = send(
        url,
        { method: 'POST', headers: { ...headers, 'Content-Length': body.length }, agent: false, signal },
        (answer) => {
          const chunks: Buffer[] = [];
          let size = 0;
          answer.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size <= MOST_BYTES) chunks.push(chunk);
          });
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? null, body: Buffer.concat(chunks).toString('utf8') }),
          );
          answer.on('error', nothing);
        },
      );
      sent.on('error', nothing);
      sent.end(body);
    } catch {
      nothing();
    }
  });
};
