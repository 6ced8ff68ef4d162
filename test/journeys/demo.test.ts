import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { globSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { migratedFile } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { createGuide, Disappointment } from './tour/guide.ts';
import type { Report } from './tour/report.ts';
import type { Stage } from './tour/stage.ts';

const demo = join(import.meta.dirname, 'demo.ts');

/**
 * Starts the tour with its own temporary folder, which also holds the compiled code unless `compiled` is set. The database is restored
 * from a backup, because cli/service.test.ts covers an empty folder.
 */
async function start(tmp: string, compiled = ''): Promise<{ child: ChildProcess; text: () => string }> {
  const backup = await migratedFile();
  const child = spawn(process.execPath, [demo], {
    env: {
      ...process.env,
      TMPDIR: tmp,
      NODE_COMPILE_CACHE: compiled,
      FORCE_COLOR: '',
      PAY_TEST_DEMO_BACKUP: backup,
    },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (text += part));
  return { child, text: () => text };
}

/** Processes with a working directory in the folder. */
function processesIn(folder: string): string[] {
  return globSync('/proc/[0-9]*/cwd').filter((link) => {
    try {
      return readlinkSync(link).startsWith(folder);
    } catch {
      return false;
    }
  });
}

test.serial('the tour shows every channel, exits 0 and leaves nothing behind', async (t) => {
  const tmp = temporaryFolder(t);
  const { child, text } = await start(tmp, process.env.NODE_COMPILE_CACHE);
  const [code] = await once(child, 'close');
  t.is(code, 0, text());
  for (const title of ['Alipay', 'WeChat Pay', 'PayPal', 'Pay per call', 'A revoked token is rejected'])
    t.regex(text(), new RegExp(title));
  t.is(text().match(/2\.50 of 12\.50 were refunded/g)?.length, 3);
  t.notRegex(text(), /pays_/, 'no secret');
  t.false(text().includes(String.fromCharCode(27)), 'no colour without a terminal');
  t.deepEqual(readdirSync(tmp), []);
  t.deepEqual(processesIn(tmp), []);
});

test.serial('an interrupted tour reports it, exits 1 and leaves nothing behind', async (t) => {
  const tmp = temporaryFolder(t);
  const { child, text } = await start(tmp);
  child.stdout!.on('data', () => {
    if (text().includes('the service is ready')) child.kill('SIGINT');
  });
  const [code] = await once(child, 'close');
  t.is(code, 1, text());
  t.regex(text(), /✘ stopped by SIGINT/);
  t.deepEqual(readdirSync(tmp), []);
  t.deepEqual(processesIn(tmp), []);
});

test('a failed step names its request and its answer', async (t) => {
  const server = createServer((_, answer) => answer.writeHead(500).end('{"code":"broken"}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const silent = new Proxy({} as Report, { get: () => () => {} });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ran = { code: 3, stdout: '', stderr: 'error: no such thing' };
  const stage = { url, payctl: async () => ran } as unknown as Stage;
  const guide = createGuide(stage, silent);
  await t.throwsAsync(guide.send('GET', '/api/v2/me', { status: 200 }), {
    instanceOf: Disappointment,
    message: 'GET /api/v2/me answered 500, not 200: {"code":"broken"}',
  });
  await t.throwsAsync(guide.payctl(['order', 'get', 'P1']), {
    instanceOf: Disappointment,
    message: 'payctl order get P1 ended with 3:\nerror: no such thing',
  });
  t.throws(() => guide.expect('two and two make five', false), { instanceOf: Disappointment, message: /make five/ });
});
