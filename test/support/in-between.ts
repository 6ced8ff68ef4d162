import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';

/** An answer in the place of the real one. */
export interface Instead {
  status: number;
  body: unknown;
}

/** Stands between the service and the simulator, and answers for it where `answer` has something to say. */
export async function startInBetween(
  t: ExecutionContext,
  target: string,
  answer: (method: string, path: string) => Instead | undefined,
): Promise<{ url: string }> {
  const server = createServer((incoming, response) => {
    const instead = answer(incoming.method ?? '', incoming.url ?? '');
    if (instead) {
      incoming.resume();
      response.writeHead(instead.status, { 'content-type': 'application/json' }).end(JSON.stringify(instead.body));
      return;
    }
    const { method, headers } = incoming;
    const onward = send(target + incoming.url, { method, headers }, (answered: IncomingMessage) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A cable whose bytes can be stopped without any of its ends noticing. */
export interface Cable {
  url: string;
  /** From now on nothing passes, and nothing is closed or refused. */
  swallow(): void;
  /** From now on every connection is broken off, as by a server that is gone. */
  cut(): void;
  mend(): void;
}

/** A cable to the host and port of `to`, which is otherwise kept as it is. */
export async function layCable(t: ExecutionContext, to: string): Promise<Cable> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  let swallowing = false;
  let broken = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const pump = (from: Socket, into: Socket): void => {
    from.on('data', (bytes: Buffer) => {
      if (!swallowing) into.write(bytes);
    });
    from.on('close', () => {
      if (!swallowing) into.destroy();
    });
  };
  const server = createTcpServer((near) => {
    keep(near);
    if (broken) return void near.destroy();
    if (swallowing) return;
    const far = keep(connect(Number(target.port), target.hostname));
    pump(near, far);
    pump(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => sockets.forEach((socket) => socket.destroy());
  t.teardown(() => {
    drop();
    server.close();
  });
  const own = new URL(to);
  own.hostname = '127.0.0.1';
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    swallow: () => void (swallowing = true),
    cut: () => {
      broken = true;
      drop();
    },
    mend: () => {
      swallowing = false;
      broken = false;
      drop();
    },
  };
}
