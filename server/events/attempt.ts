import type { EventRow } from '../db/entities/events.ts';
import type { EventPorts } from './ports.ts';
import { signedHeaders } from './sign.ts';
import { viewEvent } from './view.ts';
import { traceParent } from '../tracing.ts';

/** How one attempt ended. */
export interface Attempt {
  at: Date;
  /** The receiver's status; null when there was no complete answer. */
  status: number | null;
  error: string | null;
  durationMs: number;
}

/** What is sent. */
export type Message = Omit<EventRow, 'notifyUrl' | 'dedupe'>;

/** Sends an event once, signed with every secret; never throws: what went wrong is in the attempt. */
export async function attempt(
  { send, now }: Pick<EventPorts, 'send' | 'now'>,
  url: string,
  event: Message,
  secrets: readonly string[],
): Promise<Attempt> {
  const at = now();
  const body = JSON.stringify(viewEvent(event));
  const parent = traceParent();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'unified-payment-service',
    ...(parent !== null && { traceparent: parent }),
    ...signedHeaders(secrets, { id: event.id, at, body }),
  };
  const started = performance.now();
  const result = await send({ url, headers, body, statusOnly: true }).then(
    ({ status }) => ({ status, error: isSuccess(status) ? null : `status ${status}` }),
    (error: unknown) => ({ status: null, error: wordsOf(error) }),
  );
  return { at, ...result, durationMs: Math.round(performance.now() - started) };
}

/** Whether the receiver took it. */
export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const why = 'why' in error && typeof error.why === 'string' ? `${error.why}: ` : '';
  return `${why}${error.message}`.slice(0, 500);
}
