import { once } from 'node:events';
import { connect } from 'node:net';

/** An answer as it came over the wire. */
export interface WireAnswer {
  status: number;
  /** Everything up to the empty line. */
  head: string;
  body: string;
}

/** Sends bytes as they are, which no client library would, and reads until the other side closes; `Connection: close` is for the sender to say. */
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

/** The text of a request with these lines, in this order; the body gets its length. */
export function requestText(start: string, lines: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return `${[`${start} HTTP/1.1`, ...lines, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`;
}
