/** A notice as it is kept, signed and posted. */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { PayWay } from '../payments/channel.ts';
import type { Trade } from './trade.ts';

/** A message of a channel to a merchant, sent until it is acknowledged. Times are milliseconds on the simulated clock. */
export interface NotificationRecord {
  /** The channel's id of the message: the same on every delivery. */
  id: string;
  payWay: PayWay;
  account: string;
  tradeId: string;
  orderNo: string;
  /** The channel's word for what happened. */
  event: string;
  url: string;
  /** What the message says, fixed when it was made; JSON. */
  facts: Record<string, unknown>;
  createdAt: number;
  dueAt: number | null;
  attempts: number;
  acknowledged: boolean;
}

/** What a half says about a new notice; null facts mean that this channel tells nobody. */
interface NotificationDraft {
  id: string;
  event: string;
  url: string;
  facts: Record<string, unknown>;
}

/** A notice as it goes over the wire. */
export interface SignedNotification {
  headers: Record<string, string>;
  body: Buffer;
}

/** One delivery, for tests that replay or mutate it: headers by their names in small letters; `bodyBase64` is the exact bytes, `body` their text. */
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
  /** Why it never left, when it did not. */
  dropped: string | null;
  /** HTTP status of the answer; null without one. */
  status: number | null;
  acknowledged: boolean;
}

/** Sends notices on the channel's schedule until they are acknowledged. */
export interface Notifications {
  readonly deliveries: readonly Delivery[];
  /** Makes a notice and schedules its first delivery, `delayMs` of scaled time later than usual. */
  send(trade: Trade, draft: NotificationDraft, delayMs?: number): void;
  /** Delivers every notice of an order (or the kind given) again, now, `times` over; answers how many were sent. */
  repeat(trade: Trade, times: number, event?: string): Promise<number>;
  /** Nobody is told what this does, unless somebody asks for a delivery. */
  quietly<T>(action: () => T): T;
  /** Switches the notices of a channel off (each delivery is dropped, the schedule goes on) or on again. */
  enable(payWay: PayWay, enabled: boolean): void;
  clear(): void;
  /** Takes up what an earlier process left unacknowledged. */
  resume(): void;
  /** Ends what is under way. */
  stop(): void;
}

/** What the receiver answered; `status` null = nothing in time. */
export interface Receipt {
  status: number | null;
  body: string;
}

/** Posts a notice once and gives up after `timeoutMs`; never throws, follows nothing. */
export type Deliver = (
  url: string,
  notification: SignedNotification,
  timeoutMs: number,
  stop: AbortSignal,
) => Promise<Receipt>;

const MOST_BYTES = 64 * 1024;

/** Over the network, each on a connection of its own. */
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
