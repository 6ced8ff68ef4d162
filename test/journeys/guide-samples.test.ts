import test, { type ExecutionContext } from 'ava';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SAMPLE_LANGUAGES, type SampleLanguage, sampleFile } from '../../server/offline/guide-files.ts';
import { firstAdmin } from '../support/admin.ts';
import { freePort } from '../support/free-port.ts';
import { startReceiver, type Received } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';
import { temporaryFolder } from '../support/folder.ts';

/** The folder of the guide samples. */
const samples = join(import.meta.dirname, '../../server/pages/guides/samples');

/** The folder of the clients, which the samples in JavaScript and Python use. */
const clients = join(import.meta.dirname, '../../server/client');

const JACKSON = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);

/** How the samples of a language are run: the required programs, and their Debian packages. */
interface Runtime {
  check: readonly string[];
  files?: readonly string[];
  packages: string;
  /** The command for a file; a compiled program is built in the folder. */
  command(file: string, folder: string, env: Environment): readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const RUNTIMES: Readonly<Record<SampleLanguage, Runtime>> = {
  node: {
    check: [process.execPath, '--version'],
    packages: 'node',
    // The packages of the clients are built in test/long; here their sources stand in the place of an installed one.
    command(file, folder) {
      const packaged = join(folder, 'node_modules/unified-payment-client');
      mkdirSync(packaged, { recursive: true });
      writeFileSync(join(packaged, 'package.json'), '{ "type": "module", "exports": "./index.ts" }');
      symlinkSync(join(clients, 'ts/index.ts'), join(packaged, 'index.ts'));
      const copy = join(folder, basename(file));
      copyFileSync(file, copy);
      return [process.execPath, copy];
    },
  },
  python: {
    check: ['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 11))'],
    packages: 'python3',
    command: (file) => ['python3', file],
  },
  php: {
    check: ['php', '-r', 'exit(PHP_VERSION_ID >= 80100 ? 0 : 1);'],
    packages: 'php-cli',
    command: (file, _folder, env) =>
      env['PORT'] === undefined ? ['php', file] : ['php', '-S', `127.0.0.1:${env['PORT']}`, file],
  },
  java: {
    check: ['javac', '-version'],
    files: JACKSON,
    packages: 'openjdk-17-jdk-headless libjackson2-databind-java',
    command: (file) => ['java', '-cp', JACKSON.join(':'), file],
  },
  go: {
    check: ['go', 'version'],
    packages: 'golang-go',
    command(file, folder, env) {
      const program = join(folder, 'sample');
      const { status, stderr } = spawnSync('go', ['build', '-o', program, file], { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
      return [program];
    },
  },
};

/** Whether the machine can run samples of a language; logs it if not. */
function canRun(t: ExecutionContext, language: SampleLanguage): boolean {
  const { check, files = [], packages } = RUNTIMES[language];
  const [program = '', ...words] = check;
  if (spawnSync(program, words).status === 0 && files.every((file) => existsSync(file))) return true;
  t.log(`Not run: this machine cannot run samples in ${language}. Debian: apt install ${packages}`);
  t.pass();
  return false;
}

/** A running sample. */
interface RunningSample {
  child: ChildProcess;
  /** The output so far, of both streams. */
  printed(): string;
  /** Resolves with its exit code. */
  ended: Promise<number | null>;
}

/** Starts a sample, which is stopped at the latest when the test ends. */
function runSample(t: ExecutionContext, name: string, language: SampleLanguage, more: Environment = {}): RunningSample {
  const folder = temporaryFolder(t);
  const { PATH, HOME } = process.env;
  const python = { PYTHONPATH: join(clients, 'python'), PYTHONDONTWRITEBYTECODE: '1' };
  const env = { PATH, HOME, TMPDIR: folder, GO111MODULE: 'off', ...python, ...more };
  const [program = '', ...words] = RUNTIMES[language].command(join(samples, sampleFile(name, language)), folder, env);
  const child = spawn(program, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, printed: () => text, ended };
}

const languages = Object.keys(SAMPLE_LANGUAGES) as SampleLanguage[];
const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };

const ends: (() => unknown)[] = [];
const service = await startService({ teardown: (end) => void ends.push(end) }, { env });
const desk = await firstAdmin(service);
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

test.serial('the client in every language pays, waits and refunds, even if an answer is lost', async (t) => {
  const able = languages.filter((language) => canRun(t, language));
  // The first pay request of each sample gets no answer: its repeat must not create a second order.
  const times = able.length;
  await service.sim('/sim/faults', {
    payWay: 'alipay',
    call: 'create',
    fault: 'commit-then-timeout',
    delayMs: 1,
    times,
  });
  await Promise.all(able.map((language) => tryClient(t, language)));
});

async function tryClient(t: ExecutionContext, language: SampleLanguage): Promise<void> {
  const shop = await service.merchant();
  const credentials = { PAY_SERVER: service.url, CLIENT_ID: shop.clientId, CLIENT_SECRET: shop.secret };
  const sample = runSample(t, 'client', language, { ...credentials, SHOP_ORDER: `shop-${language}` });
  const orderNo = await until(`the order in ${language}`, async () =>
    sample.child.exitCode === null ? /Please pay at \S+\/pay\/(\w+)/.exec(sample.printed())?.[1] : 'none',
  );
  t.not(orderNo, 'none', sample.printed());
  await service.sim('/sim/pay', { orderNo });
  t.is(await sample.ended, 0, sample.printed());
  t.regex(sample.printed(), /^Refund R\w+ is (succeeded|processing), 10(\.0+)? left$/m);
  const { body } = await shop.call('GET', '/api/v2/payment/orders');
  t.is(body.data.length, 1, language);
  t.like(body.data[0], { orderNo, merchantOrderNo: `shop-${language}`, refundedAmount: 2.5 });

  const stranger = runSample(t, 'client', language, { ...credentials, CLIENT_SECRET: 'not-the-secret-of-the-shop' });
  t.not(await stranger.ended, 0, language);
}

/** The request that the service really sends to an application's webhook. */
async function deliveredTo(receiver: { url: string; received: Received[] }) {
  const shop = await service.merchant();
  const hook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  const { secret } = (await desk.call('PUT', hook, { url: receiver.url })).body.data;
  const deliver = async (): Promise<Received> => {
    await desk.call('POST', `${hook}/test`);
    return receiver.received.pop()!;
  };
  return { hook, secret: secret as string, deliver };
}

const HOUR = 3600;

for (const language of languages)
  test.serial(`the receiver in ${language} accepts a genuine webhook once, and rejects any other`, async (t) => {
    if (!canRun(t, language)) return;
    const recorder = await startReceiver(t);
    const own = await deliveredTo(recorder);
    const others = await deliveredTo(recorder);
    const genuine = await own.deliver();
    const again = await own.deliver();
    const forged = await others.deliver();
    service.clock.advance(-HOUR);
    const old = await own.deliver();
    service.clock.advance(2 * HOUR);
    const early = await own.deliver();
    service.clock.advance(-HOUR);

    const port = await freePort();
    const receiver = runSample(t, 'webhook', language, { WEBHOOK_SECRET: own.secret, PORT: String(port) });
    const url = `http://127.0.0.1:${port}/hooks`;
    const post = async ({ headers, body }: Pick<Received, 'body'> & { headers: object }): Promise<number> => {
      const signed = Object.entries(headers).filter(([name]) => /^(webhook-|content-type)/.test(name));
      return (await fetch(url, { method: 'POST', headers: signed, body })).status;
    };
    await until(`the receiver in ${language}`, () =>
      fetch(url, { method: 'POST', body: '' }).then(
        () => true,
        () => false,
      ),
    );

    t.is(await post(genuine), 204, receiver.printed());
    t.is(await post(genuine), 204, 'the same once more');
    t.is(await post(again), 204);
    t.is(await post(forged), 401, 'signed with the secret of another application');
    t.is(await post(old), 401, 'an hour old');
    t.is(await post(early), 401, 'dated in an hour');
    t.is(await post({ ...genuine, body: genuine.body.replace('webhook.test', 'webhook.tess') }), 401);
    t.is(await post({ ...genuine, headers: { ...genuine.headers, 'webhook-id': 'evt_other' } }), 401);
    t.is(await post({ ...genuine, headers: { ...genuine.headers, 'webhook-timestamp': 'now' } }), 401);
    t.is(await post({ ...genuine, headers: { ...genuine.headers, 'webhook-signature': 'v1,é v2,x' } }), 401);
    t.is(await post({ ...genuine, headers: {} }), 401);
    const rotating = { ...genuine.headers, 'webhook-signature': `v1,b2xk ${genuine.headers['webhook-signature']}` };
    t.is(await post({ ...genuine, headers: rotating }), 204, 'one of two secrets');
    t.is(receiver.printed().match(/handle/g)?.length, 2, receiver.printed());

    await desk.call('PUT', own.hook, { url });
    t.like((await desk.call('POST', `${own.hook}/test`)).body.data, { state: 'delivered', lastStatus: 204 });
    t.is(receiver.printed().match(/handle/g)?.length, 3, receiver.printed());
  });
