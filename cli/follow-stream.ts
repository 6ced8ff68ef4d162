import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient, Query } from './api-client.ts';
import { Cancelled, CliError, EXIT, codeOf, networkCause } from './errors.ts';

export interface StreamMessage {
  id: string;
  event: string;
  data: string;
}

/**
 * Parses a text/event-stream. Comments (heartbeats) are skipped. An event with only an id is a message without data.
 */
export async function* readMessages(parts: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder();
  let held = '';
  for await (const part of parts) {
    held += decoder.decode(part, { stream: true });
    const blocks = held.split(/\r?\n\r?\n/);
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = readBlock(block);
      if (message) yield message;
    }
  }
}

function readBlock(block: string): StreamMessage | undefined {
  const message: StreamMessage = { id: '', event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'id') message.id = value;
    else if (field === 'event') message.event = value;
  }
  return data.length > 0 || message.id !== '' ? { ...message, data: data.join('\n') } : undefined;
}

interface FollowedStream {
  path: string;
  /** `after` is the id of the last processed message; undefined before the first message. */
  query?: (after: string | undefined) => Query;
  /** The stream begins after the message with this id. If undefined, the service chooses the first message. */
  after?: string | undefined;
  /** Read timeout of the stream in milliseconds; by default the timeout of the API client for streams. */
  silenceMs?: number;
}

interface StreamCallbacks {
  connected?(): unknown;
  /** Called after the connection failed. The next attempt starts after `pauseMs` milliseconds. */
  lost?(why: string, pauseMs: number): unknown;
}

interface FollowParts {
  api: ApiClient;
  signal: AbortSignal;
  /** The pause in milliseconds after this number of failed attempts. */
  retryPause: (tries: number) => number;
}

/** Yields messages. After a lost connection, reconnects and continues after the last message. */
export async function* followStream(
  { api, signal, retryPause: pauseAfter }: FollowParts,
  { path, query = () => ({}), after: begin, silenceMs }: FollowedStream,
  callbacks: StreamCallbacks = {},
): AsyncGenerator<StreamMessage> {
  let after = begin;
  for (let tries = 0; ; tries += 1) {
    let why = 'the server closed the connection';
    try {
      const headers = { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) };
      const silence = silenceMs === undefined ? {} : { silenceMs };
      const stream = await api.stream({ method: 'GET', path, query: query(after), headers, signal, ...silence });
      await callbacks.connected?.();
      for await (const message of readMessages(stream)) {
        if (message.event === 'error') throw refused(message.data);
        tries = 0;
        yield message;
        after = message.id || after;
      }
    } catch (error) {
      if (signal.aborted) throw new Cancelled('Stopped.');
      if (!isBreak(error)) throw error;
      const isAnswer = error instanceof CliError && error.code !== 'unreachable';
      why = isAnswer ? error.message : networkCause(error);
    }
    const pause = pauseAfter(tries);
    await callbacks.lost?.(why, pause);
    await wait(pause, undefined, { signal }).catch(() => {
      throw new Cancelled('Stopped.');
    });
  }
}

function isBreak(error: unknown): boolean {
  if (error instanceof CliError) return error.exitCode === EXIT.tryAgain;
  return codeOf(error) !== undefined;
}

/** `unavailable` means that the service could not check the login; otherwise the login has expired. */
function refused(data: string): CliError {
  const { code = 'unauthenticated' } = JSON.parse(data) as { code?: string };
  if (code === 'unavailable') return new CliError(code, EXIT.tryAgain, 'The service is not available at the moment.');
  return new CliError(code, EXIT.notLoggedIn, 'The session is no longer valid; the stream was closed.', {
    hint: 'payctl login',
  });
}
