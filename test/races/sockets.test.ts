import test from 'ava';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../support/service.ts';
import { openSocket } from '../http/across/sockets.ts';

const MAIN = fileURLToPath(new URL('./edge-main.ts', import.meta.url));
const EACH = 500;
/** The memory limit for a thousand connections, in MB. */
const BOUND = 30;

interface Memory {
  rss: number;
  held: number;
}

test('500 idle connections and 500 that never read the largest response use little memory and are closed', async (t) => {
  const limits = { quietMs: 20_000, headersMs: 10_000 };
  const child = fork(MAIN, [JSON.stringify(limits)], { execArgv: ['--expose-gc'] });
  t.teardown(() => void child.kill('SIGKILL'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const memory = async (): Promise<Memory> => {
    child.send('memory');
    const [told] = (await once(child, 'message')) as [Memory];
    return told;
  };
  const bundle = 'GET /swagger/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
  const url = `http://127.0.0.1:${port}`;
  for (let turn = 0; turn < 20; turn += 1) await (await fetch(`${url}/swagger/swagger-ui-bundle.js`)).arrayBuffer();
  const before = await memory();
  const idle = await Promise.all(Array.from({ length: EACH }, () => openSocket(t, port)));
  const greedy = await Promise.all(Array.from({ length: EACH }, () => openSocket(t, port, bundle, { reads: false })));
  // Every response has begun when every socket has data to read.
  await Promise.all(greedy.map((socket) => socket.readableLength || once(socket, 'readable')));
  t.is((await fetch(`${url}/health`)).status, 200);
  const during = await memory();
  t.log(`before ${Math.round(before.rss)} MB, with ${2 * EACH} connections ${Math.round(during.rss)} MB`);
  t.true(during.held - before.held < BOUND, `${before.held} → ${during.held} MB held`);
  t.true(during.rss - before.rss < BOUND, `${before.rss} → ${during.rss} MB`);
  for (const socket of idle) socket.resume();
  const open = () => [...idle, ...greedy].filter((socket) => !socket.destroyed);
  await until(
    'all are ended',
    async () => {
      // A client that never reads notices the close only by writing.
      for (const socket of greedy) if (!socket.destroyed) socket.write(' ');
      return open().length === 0;
    },
    120_000,
  );
  const after = await memory();
  t.true(after.held - before.held < BOUND / 2, `${before.held} → ${after.held} MB held afterwards`);
  t.is((await fetch(`${url}/health`)).status, 200);
});
