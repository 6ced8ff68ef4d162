import type { ExecutionContext } from 'ava';
import { createServer, type Socket } from 'node:net';
import { listenOnFreePort } from './free-port.ts';

/** What PostgreSQL does about a login; unless it ends the connection it then waits, as it does for a minute. */
export const SAYS = {
  /** Asks for a password by SCRAM. */
  scram(socket: Socket) {
    socket.once('data', (first) => {
      const [nonce] = /(?<=r=)[^,\0]+/.exec(first.toString('latin1')) ?? [''];
      const [salt] = [Buffer.alloc(16, 1).toString('base64')];
      socket.write(message('R', int32(11), `r=${nonce}more,s=${salt},i=4096`));
    });
    socket.write(message('R', int32(10), 'SCRAM-SHA-256\0\0'));
  },
  error: (code: string, text: string) => (socket: Socket) =>
    void socket.end(message('E', `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`)),
  nothing() {},
  /** It is ready for TLS. */
  tls: (socket: Socket) => void socket.write('S'),
  /** It is another server. */
  http: (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
} as const;

/** Listens as PostgreSQL would; gives the URL to reach it. */
export async function fakePostgres(
  t: Pick<ExecutionContext, 'teardown'>,
  says: (socket: Socket) => void,
  login = 'pay',
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => says(socket));
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `postgres://${login}@127.0.0.1:${port}/pay`;
}

function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
