import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Opens a raw connection and sends `text`; the connection is destroyed when the test ends. */
export async function openSocket(
  t: Pick<ExecutionContext, 'teardown'>,
  port: number,
  text = '',
  options: { reads?: boolean } = {},
): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  t.teardown(() => void socket.destroy());
  await once(socket, 'connect');
  if (options.reads === false) socket.pause();
  if (text) socket.write(text);
  return socket;
}

/** Reads until the other side closes. */
export async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'close');
  return text;
}

/** Parses status, media type and document of a raw answer. */
export function parseAnswer(text: string): { status: number; type: string; body: Record<string, unknown> } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    type: /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? '',
    body: body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {},
  };
}

/** A raw answer as it was received. */
export interface WireAnswer {
  status: number;
  /** Everything up to the empty line. */
  head: string;
  body: string;
}

/** Sends raw bytes and reads until the other side closes; the sender must set `Connection: close`. */
export async function sendRaw(url: string, text: string): Promise<WireAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  const end = answer.indexOf('\r\n\r\n');
  return { status: Number(answer.slice(9, 12)), head: answer.slice(0, end), body: answer.slice(end + 4) };
}

/** Builds a request from these lines, in this order; adds the length of the body. */
export function requestText(start: string, lines: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return `${[`${start} HTTP/1.1`, ...lines, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`;
}
