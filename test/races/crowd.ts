import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import pg from 'pg';

/** One keep-alive connection, with one request at a time. */
interface Line {
  socket: Socket;
  ask(text: string): Promise<string>;
}

/** Several callers at once, each with its own connection. */
export interface Crowd {
  lines: readonly Line[];
  /** Sends each request over its own connection in one turn of the event loop. Returns the responses in order. */
  ask(texts: readonly string[]): Promise<string[]>;
}

/** Opens connections to a service; they are destroyed when the test ends. */
export async function openCrowd(t: Pick<ExecutionContext, 'teardown'>, url: string, size: number): Promise<Crowd> {
  const lines = await Promise.all(Array.from({ length: size }, () => openLine(url)));
  t.teardown(() => lines.forEach(({ socket }) => socket.destroy()));
  return { lines, ask: (texts) => Promise.all(texts.map((text, index) => lines[index]!.ask(text))) };
}

async function openLine(url: string): Promise<Line> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  let received = '';
  let waiting: PromiseWithResolvers<string> | undefined;
  socket.setEncoding('latin1').on('data', (part: string) => {
    received += part;
    const head = received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, head))?.[1]);
    if (received.length < head + 4 + length) return;
    const answer = received;
    received = '';
    waiting?.resolve(answer);
  });
  socket.on('error', () => {}).on('close', () => waiting?.reject(new Error(`closed after ${received}`)));
  return {
    socket,
    ask(text) {
      waiting = Promise.withResolvers();
      socket.write(text);
      return waiting.promise;
    },
  };
}

/** The text of a request on a connection that stays open. */
export function requestOf(
  method: string,
  path: string,
  { token, key, body }: { token?: string | undefined; key?: string | undefined; body?: unknown } = {},
): string {
  const sent = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: pay.test'];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (key !== undefined) lines.push(`Idempotency-Key: ${key}`);
  if (sent) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(sent)}`);
  return `${lines.join('\r\n')}\r\n\r\n${sent}`;
}

/** The status of a response. */
export function statusOf(answer: string): number {
  return Number(answer.slice(9, 12));
}

/** The member `data` of a response, or its whole body. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
export function dataOf(answer: string): any {
  const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  return body.data ?? body;
}

/** The statements that server/db/batched-reads.ts shares, by their text. */
const SHARED = {
  apps: /array\(select jti::text from revoked_tokens/,
  clients: /^\s*select client_id, secret_hash/,
  orders: /from "orders" where "orders"\."order_no" = any/,
} as const;
const KINDS = Object.keys(SHARED) as (keyof typeof SHARED)[];

/** A statement that several requests may share. */
export interface SharedStatement {
  text: string;
  values: readonly unknown[];
}

/** Counts the statements of this process that requests share; `refuse` may reject one before it is sent. */
export function watchShared(t: Pick<ExecutionContext, 'teardown'>) {
  const { query } = pg.Client.prototype;
  const none = () => ({ apps: 0, clients: 0, orders: 0 });
  let counts = none();
  let other = 0;
  let refuse: (sent: SharedStatement) => Error | undefined = () => undefined;
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    const [sent] = words as unknown as [SharedStatement];
    const kind = typeof sent === 'object' && KINDS.find((one) => SHARED[one].test(sent.text));
    if (kind) counts[kind] += 1;
    else other += 1;
    const refused = kind && refuse(sent);
    return refused ? Promise.reject(refused) : Reflect.apply(query, this, words);
  } as never;
  t.teardown(() => void Object.assign(pg.Client.prototype, { query }));
  return {
    forget() {
      counts = none();
      other = 0;
    },
    seen: () => ({ ...counts, all: counts.apps + counts.clients + counts.orders }),
    /** Statements that no other request shares. */
    others: () => other,
    onShared: (listener: typeof refuse) => void (refuse = listener),
  };
}
