import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { SignedNotice } from './notice.ts';

/** What the receiver answered; `status` null = nothing in time. */
export interface Receipt {
  status: number | null;
  body: string;
}

/** Posts a notice once and gives up after `timeoutMs`; never throws, follows nothing. */
export type Deliver = (url: string, notice: SignedNotice, timeoutMs: number, stop: AbortSignal) => Promise<Receipt>;

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
