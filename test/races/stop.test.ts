import test from 'ava';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bundled } from '../support/built.ts';
import { createDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { layCable } from '../support/in-between.ts';
import { freePort } from '../support/free-port.ts';
import { testEnvironment, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

const BIN = fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url));

test('a service polls again after a database outage, and exits on SIGTERM during another', async (t) => {
  const { url, drop } = await createDatabase();
  t.teardown(drop);
  const cable = await layCable(t, url);
  const simulator = await ownSimulator(t);
  const [port, metrics] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [await bundled(BIN), 'server', 'start'], {
    cwd: temporaryFolder(t),
    env: {
      ...process.env,
      ...testEnvironment(cable.url),
      PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      PAY_SERVER_PUBLIC_URL: `http://127.0.0.1:${port}`,
      PAY_SERVER_SHUTDOWN_SECONDS: '1',
      PAY_METRICS_LISTEN: `127.0.0.1:${metrics}`,
      PAY_SIMULATOR_URL: simulator.url,
    },
    stdio: 'ignore',
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const lastLook = async (): Promise<number> => {
    const text = await fetch(`http://127.0.0.1:${metrics}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    return Number(/^jobs_last_look_timestamp_seconds (\S+)/m.exec(text)?.[1] ?? 0);
  };
  const health = async (): Promise<number> =>
    fetch(`http://127.0.0.1:${port}/health/db`).then(
      ({ status }) => status,
      () => 0,
    );
  const looksAgain = async (): Promise<void> => {
    const before = await lastLook();
    await until('another look', async () => (await lastLook()) > before, 60_000);
  };
  await until('ready', async () => (await health()) === 200, 60_000);
  await looksAgain();
  cable.swallow();
  await until('no database', async () => (await health()) === 503, 60_000);
  cable.mend();
  await looksAgain();
  cable.swallow();
  await until('no database', async () => (await health()) === 503, 60_000);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  t.is(signal, null);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  test(`${signal} ends a service without workers in an orderly way`, async (t) => {
    const simulator = await ownSimulator(t);
    // The kind of database makes no difference to a signal, and an embedded one takes seconds to start.
    const { url, drop } = await createDatabase();
    t.teardown(drop);
    const child = spawn(process.execPath, [await bundled(BIN), 'server', 'start'], {
      cwd: temporaryFolder(t),
      env: {
        PATH: process.env['PATH'],
        ...testEnvironment(url),
        PAY_SERVER_LISTEN: '127.0.0.1:0',
        PAY_METRICS_LISTEN: '127.0.0.1:0',
        PAY_SIMULATOR_URL: simulator.url,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => void child.kill('SIGKILL'));
    let log = '';
    child.stdout.on('data', (part: Buffer) => {
      const wasReady = log.includes('"msg":"ready"');
      log += part.toString();
      if (!wasReady && log.includes('"msg":"ready"')) child.kill(signal);
    });
    t.deepEqual(await once(child, 'close'), [0, null]);
    t.regex(log, /"msg":"stopping"/);
  });
