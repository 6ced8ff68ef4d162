import test, { type ExecutionContext } from 'ava';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { MIGRATIONS } from '../../server/db/migrations/index.ts';
import { runPayctl } from '../cli/payctl.ts';
import { copyOf, createDatabase, PATIENT } from '../support/database.ts';
import { applicationAt, logInAt, type Send } from '../fixtures/release-0.1.0/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { startSimulator } from '../../server/simulator/simulator.ts';
import type { Facts } from '../fixtures/release-0.1.0/contents.ts';

const fixtures = new URL('../fixtures/release-0.1.0/', import.meta.url);

/** The state that the release left. */
interface Left {
  facts: Facts;
  /** Its database when the service stopped, without later migrations. */
  url: string;
  /** Its simulator at the same moment. */
  simulator: { url: string };
  /** The time, continued from that moment. */
  now: () => Date;
}

/** Restores the release's database and simulator; notifications go to `serviceUrl` from now on. */
async function restoreRelease(t: ExecutionContext, serviceUrl: string): Promise<Left> {
  const facts = JSON.parse(readFileSync(new URL('facts.json', fixtures), 'utf8')) as Facts;
  const ahead = Date.parse(facts.madeAt) - Date.now();
  const files = JSON.parse(unpack('simulator.json.gz')) as Record<string, string>;
  const moved = Object.entries(files).map(([name, text]) => [name, text.replaceAll(facts.url, serviceUrl)]);
  const dir = temporaryFolder(t, Object.fromEntries(moved) as Record<string, string>);
  const simulator = await startSimulator({ dir, listen: { host: '127.0.0.1', port: 0 }, clockOffset: ahead });
  t.teardown(() => simulator.close());
  return { facts, url: await restoreDatabase(t), simulator, now: () => new Date(Date.now() + ahead) };
}

async function restoreDatabase(t: ExecutionContext): Promise<string> {
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const { em, close } = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  // Lines with a leading backslash are for psql.
  await em.fork().execute(unpack('database.sql.gz').replaceAll(/^\\.*$/gm, ''));
  await close();
  return url;
}

function unpack(name: string): string {
  return gunzipSync(readFileSync(join(fixtures.pathname, name))).toString('utf8');
}

test('a database of 0.1.0 works under this release: orders, refunds, calls, coins, notifications, webhooks, keys and ledger checks', async (t) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const left = await restoreRelease(t, url);
  const { facts } = left;
  await proveBackup(t, left.url, left.now);

  const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const service = await startService(t, { ...left, port, env });
  await service.app.prepare();
  const admin = await logInAt(url, facts.admin);
  const shop = await applicationAt(url, facts.shop.clientId, facts.shop.secret);
  await booksAreClean(t, admin);
  for (const [name, { orderNo, status, amountMinor, payWay }] of Object.entries(facts.orders)) {
    const { body } = await admin('GET', `/api/v1/orders/${orderNo}`);
    t.like(body.data, { orderNo, amountMinor, payWay }, name);
    t.regex(body.data.status, MOVING[name] ?? new RegExp(`^${status}$`), name);
    for (const more of ['timeline', 'explain'])
      t.is((await admin('GET', `/api/v1/orders/${orderNo}/${more}`)).status, 200, `${name}: ${more}`);
  }
  for (const [name, { refundNo, status }] of Object.entries(facts.refunds))
    t.regex(
      (await admin('GET', `/api/v1/refunds/${refundNo}`)).body.data.status,
      ENDS[status] ?? new RegExp(`^${status}$`),
      name,
    );
  const exceptions = (await admin('GET', '/api/v1/exceptions?state=open&limit=100')).body.data as {
    id: string;
    kind: string;
  }[];
  t.deepEqual(exceptions.map(({ kind }) => kind).toSorted(), facts.exceptions);
  // Work in progress may have continued meanwhile.
  const { length: events } = (await admin('GET', '/api/v1/events?limit=200')).body.data;
  t.true(events >= facts.events, `${events} events of ${facts.events}`);

  const receiver = await startReceiver(t);
  const hook = { url: receiver.url };
  t.is((await admin('PUT', `/api/v1/api-apps/${facts.shop.clientId}/webhook`, hook)).status, 200);
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    const { orderNo } = facts.orders[`pending ${payWay}`]!;
    await service.sim('/sim/pay', { orderNo });
    await until(`the notification about ${orderNo} is received`, async () => {
      const { body } = await admin('GET', `/api/v1/orders/${orderNo}`);
      return body.data.status === 'paid';
    });
    await refund(t, shop, facts.orders[`paid ${payWay}`]!.orderNo);
    await refund(t, shop, orderNo);
  }
  await until('webhooks go on', async () => {
    await service.app.deliveries.once();
    return receiver.received.filter(({ body }) => /order\.paid/.test(body)).length >= 3;
  });
  // A stored response is returned unchanged, without later members, so it is requested from another host name.
  const { clientId, secret } = facts.shop;
  const elsewhere = await applicationAt(url.replace('127.0.0.1', 'localhost'), clientId, secret);
  const again = await elsewhere('POST', '/api/v2/payment/pay', facts.kept.request, {
    'idempotency-key': facts.kept.key,
  });
  t.is(again.body.data.orderNo, facts.kept.answer.data.orderNo);
  await callsGoOn(t, shop, facts.skills);
  t.like((await shop('GET', '/api/v2/coins/gold/balance?userId=mei')).body.data, { available: 103 });
  const debit = { userId: 'mei', amount: 7, bizNo: 'spent-1' };
  t.is(
    (await shop('POST', '/api/v2/coins/gold/debit', debit)).body.data.balanceAfter,
    103,
    'the same debit is not made twice',
  );
  t.is((await shop('POST', '/api/v2/coins/gold/debit', { ...debit, bizNo: 'spent-2' })).body.data.balanceAfter, 96);
  const { refundNo } = facts.refunds['refund abnormal']!;
  t.is((await admin('POST', `/api/v1/refunds/${refundNo}/retry`, {})).status, 200);
  const twice = exceptions.find(({ kind }) => kind === 'double_paid')!;
  const resolution = { action: 'refund', reason: 'Paid twice' };
  t.is((await admin('POST', `/api/v1/exceptions/${twice.id}/resolve`, resolution)).status, 200);
  await booksAreClean(t, admin);
});

/** Work in progress ends once the channel has made it: refunds by their state, orders by their outcome. */
const ENDS: Readonly<Record<string, RegExp>> = { processing: /^(processing|succeeded|failed)$/ };
const MOVING: Readonly<Record<string, RegExp>> = { 'refund under way': /^(paid|partially_refunded)$/ };

/** As an operator does before the upgrade: migrates a copy and checks it. */
async function proveBackup(t: ExecutionContext, url: string, now: () => Date): Promise<void> {
  const file = join(temporaryFolder(t, { url: await copyOf(t, url) }), 'url');
  const env = {
    PAY_DATABASE_URL: url,
    PAY_JWT_SECRET_KEY: 'a-test-secret-of-more-than-32-bytes!',
    PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const check = (...more: string[]) =>
    runPayctl(['server', 'restore-check', '--url-file', file, ...more, '--json'], {
      cwd: temporaryFolder(t),
      env,
      now,
    });
  // 0.1.0 has only the first migration.
  const isOlder = MIGRATIONS.length > 1;
  const before = await check();
  t.is(before.code, isOlder ? 1 : 0, before.stdout + before.stderr);
  t.is(/migrations are pending: the backup is from before an upgrade/.test(before.stdout), isOlder);
  const { code, stdout, stderr } = await check('--migrate');
  t.is(code, 0, stdout + stderr);
}

async function booksAreClean(t: ExecutionContext, admin: Send): Promise<void> {
  for (let cursor = ''; ;) {
    const { body } = await admin('GET', `/api/v1/books${cursor && `?cursor=${cursor}`}`);
    t.true(body.data.ok, JSON.stringify(body.data.proofs));
    if (body.data.nextCursor === null) return;
    cursor = body.data.nextCursor;
  }
}

async function refund(t: ExecutionContext, shop: Send, orderNo: string): Promise<void> {
  const { status, body } = await shop('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1.5 });
  t.is(status, 200, JSON.stringify(body));
  await until(`the refund of ${orderNo}`, async () => {
    const found = await shop('GET', `/api/v2/payment/refunds/${body.data.refundNo}`);
    return found.body.data.status === 'succeeded';
  });
}

async function callsGoOn(t: ExecutionContext, shop: Send, skills: Record<string, string>): Promise<void> {
  const repeat = (outTradeNo: string) =>
    shop('POST', '/api/v2/skillpay/resource', { resource: 'demo' }, { 'x-out-trade-no': outTradeNo });
  t.is((await repeat(skills['offered']!)).status, 402);
  t.like((await repeat(skills['paid']!)).body.data, { alreadyFulfilled: false });
  t.like((await repeat(skills['answered']!)).body.data, { alreadyFulfilled: true });
  t.not((await repeat(skills['returned']!)).status, 200);
}
