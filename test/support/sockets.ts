import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A raw connection that has sent `text`; it is cut when the test ends. */
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

/** All that arrives until the other side closes. */
export async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'close');
  return text;
}

/** Status, media type and document of a raw answer. */
export function parseAnswer(text: string): { status: number; type: string; body: Record<string, unknown> } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    type: /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? '',
    body: body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {},
  };
}
