import { sql } from 'kysely';
import { createPublicKey, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import type { Mode } from '../../server/payments/channel.ts';
import { newNumber } from '../../server/payments/numbers.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { payBill, takeAgents } from '../support/agents.ts';
import { runPayctl } from '../cli/payctl.ts';
import { createDatabase, PATIENT } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { createForger, type Facts, type Forger } from './forge.ts';
import { MODE_WAYS, type ModeKey, type ModeWay } from './key-modes.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import {
  type Answer,
  type Merchant,
  request,
  type Service,
  startService,
  testEnvironment,
} from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import { addSkill, callSkill, paidSkill } from '../support/skillpay.ts';
import { withOrder } from './wrong-notifications.ts';
import { fixture, publicOf } from '../unit/credentials/material.ts';
import { insertOrder } from '../unit/credentials/service.ts';

const REAL = { env: { PAY_DEBUG: 'false' } } as const;

/** Built channels cache the age of their keys. */
const AGED = [
  `update certs set trusted_at = now() - interval '3 days' where trusted_at is not null`,
  `update channel_states set trust_revision = trust_revision + 1`,
];

async function age({ app }: Service): Promise<void> {
  await app.store.transaction(async (tx) => {
    for (const text of AGED) await tx.sql`${sql.raw(text)}`;
  });
}

const LIVE_ALIPAY = {
  mode: 'live',
  appId: '2021009999999901',
  sellerId: '2088999999999901',
  alipay_app_key: fixture('app.key'),
  alipay_public_key: publicOf(fixture('alipay.key')),
};

/** The content of a simulator message about a payment. */
async function templateOf(service: Service, forger: Forger, payWay: 'alipay' | 'wechat', amount = 10): Promise<Facts> {
  const orderNo = await placeOrder(await service.merchant(), { payWay, amount });
  await service.sim('/sim/pay', { orderNo });
  await service.sim('/sim/notify', { orderNo });
  return forger.factsOf((await service.deliveries(orderNo))[0]!);
}

async function post(
  service: Service,
  path: string,
  { headers, body }: { headers: Record<string, string>; body: Buffer },
) {
  const answer = await fetch(service.url + path, { method: 'POST', headers, body: new Uint8Array(body) });
  return { status: answer.status, text: await answer.text() };
}

test('a key of the simulator pays no live order', async (t) => {
  const simulator = await ownSimulator(t);
  const debug = await startService(t, { simulator });
  const admin = await firstAdmin(debug);
  const forger = createForger(simulator.dir);
  const template = await templateOf(debug, forger, 'alipay', 888);
  await debug.stop();

  const service = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  const { call } = await admin.logInAt(service.url);
  const { status, body } = await call('POST', '/api/v1/payment/config/alipay', LIVE_ALIPAY);
  t.is(status, 200, JSON.stringify(body));
  await age(service);
  const orderNo = await placeOrder(await service.merchant(), { amount: 888, scene: 'page' });
  const { appId: app_id, sellerId: seller_id } = LIVE_ALIPAY;
  const facts = { ...withOrder('alipay', template, orderNo, ''), app_id, seller_id, total_amount: '888.00' };
  const { text } = await post(service, '/notify/alipay/default', await forger.sign('alipay', 'default', facts));
  t.not(text, 'success');
  t.is(await stateOf(service, orderNo), 'pending');
});

/** A key of the table, as it was uploaded. */
interface TableKey extends ModeKey {
  mode: Mode;
  account: string;
  isDefault: boolean;
  id: string;
}

/** One way of verifying in a project of its own, at the service that currently uses its database. */
interface Table {
  way: ModeWay;
  project: string;
  clientId: string;
  service: Service;
  simulated: boolean;
  call: Admin['call'];
  forger: Forger;
  template: Facts;
  keys: TableKey[];
  /** The modes configured so far, the current one last. */
  modes: Mode[];
}

interface Counts {
  rows: number;
  accepted: number;
  refused: number;
  young: number;
}

const taken = async (answer: Promise<Answer>, what: string): Promise<Answer['body']['data']> => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
  return body.data;
};

/** Configures the account in another mode with its own keys, and uploads keys for another account in that mode. */
async function change(on: Table, mode: Mode): Promise<void> {
  const { way, project, call } = on;
  const [own, other] = way.accounts;
  const { keys, beside } = await way.keys();
  const sent = { mode, ...(await way.fields()), ...beside, [way.kind]: keys.map(({ pem }) => pem) };
  await taken(call('POST', `/api/v1/payment/config/${way.payWay}?project=${project}`, sent), `${way.name} ${mode}`);
  const foreign = (await way.keys()).keys;
  for (const { pem } of foreign) {
    const upload = { payWay: way.payWay, kind: way.kind, content: pem, mode, account: other };
    await taken(call('POST', `/api/v1/certs/upload?project=${project}`, upload), `${way.name} ${mode} ${other}`);
  }
  const listed = await certsOf(on);
  const brought = [...keys.map((key) => ({ key, account: own })), ...foreign.map((key) => ({ key, account: other }))];
  for (const { key, account } of brought) {
    const row = listed.find((one) => one.mode === mode && one.account === account && one.pem === textOf(key.pem));
    if (!row) throw new Error(`${way.name} ${mode} ${account}: the key is not listed`);
    on.keys.push({ ...key, mode, account, isDefault: row.isDefault, id: row.id });
  }
  on.modes.push(mode);
}

const textOf = (pem: string) =>
  pem.includes('CERTIFICATE') ? pem : String(createPublicKey(pem).export({ type: 'spki', format: 'pem' }));

async function certsOf({ service, project, way }: Table) {
  const { payWay, kind } = way;
  const rows = await service.app.store.read((tx) => tx.certs.list({ project, payWay, kind, deletedAt: null }));
  return rows.map((row) => ({ ...row, pem: textOf(row.publicPem!), isTrusted: row.trustedAt !== null }));
}

/** An order of the account in a mode that is or was configured. */
async function orderOf({ service, way, project, clientId }: Table, mode: Mode): Promise<string> {
  const { payWay } = way;
  const [newest] = await service.app.store.read((tx) =>
    tx.channelConfigs.list({ project, payWay, mode }, { orderBy: { version: 'desc' }, limit: 1 }),
  );
  const { version: configVersion, account, fields } = newest!;
  const orderNo = newNumber('P', new Date());
  const appId = payWay === 'wechat' ? fields['appId']! : null;
  const expiresAt = new Date(Date.now() + 3_600_000);
  const pinned = { project, payWay, mode, account, configVersion, appId };
  await insertOrder(service.app.store, { orderNo, clientId, ...pinned, amount: 1000n, expiresAt });
  return orderNo;
}

/**
 * Signs with every key that an order of every mode is paid. Only the key's own mode and account accept it, while it is trusted;
 * `young`: only the refused cases, because a young key leads to a query of the channel.
 */
async function goThrough(t: ExecutionContext, on: Table, when: string, { young = false } = {}): Promise<Counts> {
  const { way, service, project, forger, template } = on;
  const counts = { rows: 0, accepted: 0, refused: 0, young: 0 };
  const trusted = new Set((await certsOf(on)).flatMap(({ id, isTrusted }) => (isTrusted ? [id] : [])));
  for (const mode of on.modes.filter((one) => one !== 'simulator' || on.simulated))
    for (const key of on.keys) {
      const isIts = key.mode === mode && key.account === way.accounts[0] && trusted.has(key.id);
      if (isIts && young) continue;
      const orderNo = await orderOf(on, mode);
      const facts = withOrder(way.payWay, way.facts(template, way.accounts[0]), orderNo, '');
      const message = await forger.sign(way.payWay, 'default', facts, { secrets: key.secrets });
      const { status, text } = await post(service, `/notify/${way.payWay}/${project}`, message);
      const state = await stateOf(service, orderNo);
      const what = `${way.name}, ${when}: a ${key.isDefault ? 'default' : 'second'} key of ${key.mode} ${key.account} about an order in ${mode}: ${status} ${text}`;
      t.is(state, isIts ? 'paid' : 'pending', what);
      t.is(status === 200, isIts, what);
      counts.rows += 1;
      counts[isIts ? 'accepted' : 'refused'] += 1;
      if (young) counts.young += 1;
    }
  return counts;
}

/** Checks the table after a change, and again with every key trusted; each time with young keys too. */
async function goThroughTrusted(t: ExecutionContext, on: Table, when: string): Promise<Counts[]> {
  const { service, call } = on;
  const found = [await goThrough(t, on, `${when}, young`, { young: true })];
  await age(service);
  found.push(await goThrough(t, on, when));
  for (const { id, isTrusted } of await certsOf(on))
    if (!isTrusted) await taken(call('POST', `/api/v1/certs/${id}/trust`), `trust ${id}`);
  found.push(await goThrough(t, on, `${when}, all trusted, young`, { young: true }));
  await age(service);
  found.push(await goThrough(t, on, `${when}, all trusted`));
  return found;
}

/** The trusted keys, as `mode account`. */
async function trustedIn(on: Table): Promise<string[]> {
  const rows = (await certsOf(on)).filter(({ isTrusted }) => isTrusted);
  return [...new Set(rows.map(({ mode, account }) => `${mode} ${account}`))].toSorted();
}

test('a key verifies only in the mode and for the account that it was uploaded for', async (t) => {
  const simulator = await ownSimulator(t);
  const forger = createForger(simulator.dir);
  const debug = await startService(t, { simulator });
  const admin = await firstAdmin(debug);
  const templates = {
    alipay: await templateOf(debug, forger, 'alipay'),
    wechat: await templateOf(debug, forger, 'wechat'),
  };
  const tables: Table[] = [];
  const counts: Counts[] = [];
  for (const way of MODE_WAYS) {
    const project = `modes-${MODE_WAYS.indexOf(way)}`;
    await taken(admin.call('POST', '/api/v1/projects', { code: project, name: project }), project);
    const { clientId } = await debug.merchant({ project });
    const template = templates[way.payWay];
    const common = { forger, template, keys: [], modes: [] };
    tables.push({ way, project, clientId, service: debug, simulated: true, call: admin.call, ...common });
  }
  for (const on of tables) {
    await change(on, 'simulator');
    counts.push(...(await goThroughTrusted(t, on, 'the simulator')));
    if (!on.way.modes.includes('sandbox')) continue;
    await change(on, 'sandbox');
    counts.push(...(await goThroughTrusted(t, on, 'the sandbox after the simulator')));
  }
  await debug.stop();

  const service = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  const { call } = await admin.logInAt(service.url);
  for (const on of tables) {
    Object.assign(on, { service, call, simulated: false });
    const left = await trustedIn(on);
    t.deepEqual(
      left.filter((one) => one.startsWith('simulator')),
      [],
      `${on.way.name}: what the simulator brought is trusted no more`,
    );
    await change(on, 'live');
    const [own, other] = on.way.accounts;
    const kept = on.way.modes.includes('sandbox') ? [`sandbox ${own}`] : [];
    t.deepEqual(
      await trustedIn(on),
      [`live ${own}`, `live ${other}`, ...kept],
      `${on.way.name}: open orders keep theirs`,
    );
    counts.push(...(await goThroughTrusted(t, on, 'live')));
  }

  const replica = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  await age(service);
  for (const on of tables) counts.push(await goThrough(t, { ...on, service: replica }, 'live, at another replica'));
  await replica.stop();
  await service.stop();
  const restarted = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  for (const on of tables) counts.push(await goThrough(t, { ...on, service: restarted }, 'live, after a restart'));

  const again = await admin.logInAt(restarted.url);
  for (const on of tables.filter(({ way }) => way.modes.includes('sandbox'))) {
    Object.assign(on, { service: restarted, call: again.call });
    const { payWay } = on.way;
    const back = again.call('POST', `/api/v1/payment/config/${payWay}?project=${on.project}`, { mode: 'sandbox' });
    t.like(
      await taken(back, 'back'),
      { mode: 'sandbox', missing: [], configured: true },
      'its own keys are found again',
    );
    counts.push(await goThrough(t, on, 'the sandbox again'));
  }
  const sum = (name: keyof Counts) => counts.reduce((total, one) => total + one[name], 0);
  t.true(sum('accepted') > 50);
  t.log(`${sum('rows')} rows: ${sum('accepted')} accepted, ${sum('refused')} refused, ${sum('young')} with young keys`);
});

test('a payment, proof or key from the simulator has no effect outside the simulator', async (t) => {
  const simulator = await ownSimulator(t);
  const debug = await startService(t, { simulator });
  const admin = await takeAgents(debug);
  const { clientId, secret, call } = await debug.merchant();
  const shop = { call } as Merchant;
  await addSkill(debug);
  const paid = await paidSkill(debug, shop, { resource: 'weather', payWay: 'wechat' });
  const { headers } = await callSkill(shop, { resource: 'weather', payWay: 'wechat' });
  const [accepted] = JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()).accepts;
  await debug.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const offer = await callSkill(shop, { resource: 'weather', payWay: 'alipay' });
  const { outTradeNo } = offer.body.data;
  const proof = { 'payment-proof': await payBill(debug, offer) };
  const pinned = (change: object) =>
    debug.app.store.transaction((tx) => tx.orders.update({ orderNo: outTradeNo }, change));
  const { mode, account } = (await debug.app.store.read((tx) => tx.orders.find({ orderNo: outTradeNo })))!;
  for (const other of [{ mode: 'sandbox' as const }, { mode: 'live' as const }, { account: '2021000000000999' }]) {
    await pinned(other);
    const { status, body } = await callSkill(shop, undefined, undefined, proof);
    t.deepEqual([status, body.code], [400, 'proof_invalid'], JSON.stringify(other));
    await pinned({ mode, account });
  }
  const { developerId, keyId, privateKey } = (await debug.sim('/sim/agent/developer', {
    account: 'default',
    skills: ['weather-report'],
  })) as unknown as Record<string, string>;
  const agentPay = '/api/v1/skillpay/agent-pay?project=default';
  const skills = { weather: { id: 'weather-report', version: '1.0.0' } };
  await taken(admin.call('PUT', agentPay, { developerId, keyId, privateKey, skills }), 'agent pay');
  const another = await admin.call('PUT', agentPay, { developerId: 'sh-another' });
  t.deepEqual([another.status, another.body.errors[0].pointer], [400, '/keyId'], 'the key belongs to its developer');
  const { keys: before } = (await request(debug.url, 'GET', '/.well-known/jwks.json')).body;
  t.true(before.length > 0);
  await debug.stop();

  const service = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  const credentials = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const { access_token: token } = (await request(service.url, 'POST', '/oauth/token', credentials)).body;
  const signature = (no: string) =>
    Buffer.from(
      JSON.stringify({
        x402Version: 2,
        accepted: { ...accepted, extra: { ...accepted.extra, outTradeNo: no } },
        payload: { outTradeNo: no },
      }),
    ).toString('base64');
  const tries: Record<string, string>[] = [
    { 'x-out-trade-no': paid },
    { 'payment-signature': signature(paid) },
    { 'x-out-trade-no': outTradeNo },
    proof,
  ];
  for (const sent of tries) {
    const answer = await request(service.url, 'POST', '/api/v2/skillpay/resource', undefined, {
      authorization: `Bearer ${token}`,
      ...sent,
    });
    t.deepEqual([answer.status, answer.body.code], [422, 'channel_not_configured'], JSON.stringify(sent));
  }
  t.is(await service.app.store.read((tx) => tx.skillOrders.count({ fulfilment: 'done' })), 0);
  t.deepEqual((await request(service.url, 'GET', '/.well-known/jwks.json')).body.keys, []);
  t.deepEqual((await request(service.url, 'GET', '/.well-known/did.json')).body.verificationMethod, []);
  const real = await admin.logInAt(service.url);
  const kept = await real.call('PUT', agentPay, { skills });
  t.deepEqual(
    [kept.status, kept.body.errors[0].pointer],
    [400, '/developerId'],
    'a key of the simulator is not taken over',
  );
  const given = await real.call('PUT', agentPay, { developerId: 'sh-real', keyId: 'PUB_KEY_REAL', privateKey });
  t.is(given.body.data.mode, 'live');
  t.log(`${tries.length + 3} proofs and ${before.length} signing keys of another mode or account: none accepted`);
});

test('a production start distrusts Debug keys, or is refused and names the command that distrusts them', async (t) => {
  const { url, drop } = await createDatabase({ direct: true });
  const owner = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
  const run = (sql: string) => owner.em.fork().execute(sql);
  const [role, password] = [`pay_${randomBytes(6).toString('hex')}`, randomBytes(12).toString('hex')];
  await run(`create role "${role}" login password '${password}'`);
  t.teardown(async () => {
    await run(`drop owned by "${role}"`);
    await run(`drop role "${role}"`);
    await owner.close();
    await drop();
  });
  const own = new URL(url);
  own.username = role;
  own.password = password;
  const secrets = {
    PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
    PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  const simulator = await ownSimulator(t);
  const debug = await startService(t, { url, simulator, env: secrets });
  await debug.app.prepare();
  const admin = await firstAdmin(debug);
  await debug.stop();
  const production = {
    ...secrets,
    PAY_DEBUG: 'false',
    NODE_ENV: 'production',
    PAY_SERVER_PUBLIC_URL: 'https://pay.shop.example',
    PAY_DATABASE_MIGRATE: 'false',
  };
  const trusted = () => owner.em.fork().execute(`select id::text from certs where trusted_at is not null`);
  const lines = async (): Promise<{ actor: string; target: string }[]> =>
    owner.em.fork().execute(`select actor, target from audit_log where action = 'cert.distrust' order by id`);
  const brought = (await trusted()) as { id: string }[];
  t.true(brought.length >= 3, 'of Alipay, WeChat Pay and PayPal');

  await run(`grant usage on schema public to "${role}"`);
  await run(`grant select, insert, update, delete on all tables in schema public to "${role}"`);
  await run(`grant usage, select on all sequences in schema public to "${role}"`);
  const folder = temporaryFolder(t);
  const payctl = (argv: string[]) =>
    runPayctl(argv, {
      cwd: folder,
      now: () => new Date(),
      env: { ...testEnvironment(url, { env: production }), PAYCTL_CONFIG_DIR: join(folder, 'payctl') },
    });
  const named = async () => {
    const found = JSON.parse((await payctl(['doctor', '--offline', '--json'])).stdout) as {
      detail: string;
      fix: string;
    }[];
    return found.filter(({ detail }) => detail.includes('came with mode simulator'));
  };
  t.deepEqual(
    (await named()).map(({ fix }) => fix),
    brought.map(() => 'payctl cert distrust --offline'),
  );
  for (const [revoke, table] of [
    ['update', 'certs'],
    ['insert', 'audit_log'],
  ]) {
    await run(`revoke ${revoke} on ${table} from "${role}"`);
    const refused = await t.throwsAsync(startService(t, { url: own.href, simulator, env: production }), {
      code: 'keys_of_other_modes',
    });
    t.regex(
      refused?.message ?? '',
      /^[^.]*: run payctl cert distrust --offline[^.]*\.$/,
      `without ${revoke} on ${table}`,
    );
    await run(`grant ${revoke} on ${table} to "${role}"`);
    t.deepEqual(await trusted(), brought);
    t.deepEqual(await lines(), []);
  }

  t.is((await payctl(['cert', 'distrust', '--offline'])).code, 2, 'it has to be confirmed');
  const done = await payctl(['cert', 'distrust', '--offline', '-y', '--json']);
  t.is(done.code, 0, done.stderr);
  t.is((JSON.parse(done.stdout) as object[]).length, brought.length);
  t.deepEqual(await trusted(), []);
  t.deepEqual([(await lines()).length, await named()], [brought.length, []]);
  await run(`revoke update on certs from "${role}"`);
  await (await startService(t, { url: own.href, simulator, env: production })).stop();
  await run(`grant update on certs to "${role}"`);

  const ids = brought.map(({ id }) => `'${id}'`).join(', ');
  await run(`update certs set trusted_at = now() where id in (${ids})`);
  const [service] = await Promise.all([1, 2].map(() => startService(t, { url: own.href, simulator, env: production })));
  t.deepEqual(await trusted(), []);
  const byStart = (await lines()).filter(({ actor }) => actor === 'start');
  t.is(byStart.length, brought.length, 'one audit line per key across both replicas');
  const { call } = await admin.logInAt(service!.url);
  await taken(call('POST', '/api/v1/payment/config/alipay', LIVE_ALIPAY), 'live');
  const ofAlipay = await owner.em
    .fork()
    .execute(`select id from certs where kind like 'alipay_public%' and mode = 'simulator'`);
  t.is((await named()).filter(({ fix }) => fix.startsWith('payctl cert delete')).length, ofAlipay.length);
  t.log(`${brought.length} keys of the simulator distrusted at a production start, each with an audit line`);
});

test("PayPal: the simulator's webhooks verify in no other mode, and neither secret nor webhook id is taken over", async (t) => {
  const simulator = await ownSimulator(t);
  const debug = await startService(t, { simulator });
  const admin = await firstAdmin(debug);
  const forger = createForger(simulator.dir);
  const { clientId } = await debug.merchant();
  const paid = await placeOrder(await debug.merchant(), { payWay: 'paypal', currency: 'USD' });
  await debug.sim('/sim/pay', { orderNo: paid });
  await debug.sim('/sim/notify', { orderNo: paid });
  const deliveries = await debug.deliveries(paid);
  const certUrl = deliveries[0]!.headers['paypal-cert-url']!;
  const template = forger.factsOf(deliveries.at(-1)!);
  const { webhookId } = forger.secretsOf('paypal', 'default');
  await debug.stop();

  const service = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  const { call } = await admin.logInAt(service.url);
  const write = (sent: object) => call('POST', '/api/v1/payment/config/paypal', sent);
  for (const mode of ['sandbox', 'live'] as const) {
    const account = `client-of-${mode}`;
    const without = await write({ mode, clientId: account });
    t.deepEqual([without.status, without.body.errors[0].pointer], [400, '/clientSecret'], mode);
    const bare = await write({ mode, clientId: account, clientSecret: `secret-of-${mode}` });
    t.like(bare.body.data, { mode, missing: ['webhookId'], configured: false }, mode);
    t.like((await write({ webhookId })).body.data, { missing: [], configured: true }, mode);
    const { version: configVersion } = (await call('GET', '/api/v1/payment/config/paypal')).body.data;
    const orderNo = newNumber('P', new Date());
    const expiresAt = new Date(Date.now() + 3_600_000);
    const pinned = { payWay: 'paypal', mode, account, configVersion, currency: 'USD' } as const;
    await insertOrder(service.app.store, { orderNo, clientId, ...pinned, amount: 1000n, expiresAt });
    const facts = withOrder('paypal', template, orderNo, 'NONE');
    const message = await forger.sign('paypal', 'default', facts, { certUrl });
    const { status } = await post(service, '/notify/paypal/default', message);
    t.true(status >= 400, `${mode}: ${status}`);
    t.is(await stateOf(service, orderNo), 'pending', mode);
  }
  const back = (await write({ mode: 'sandbox' })).body.data;
  t.like(back, { account: 'client-of-sandbox', missing: [], configured: true }, 'the sandbox has what was its own');
});

test('a change of mode or account takes over no key and reports the owner of each key', async (t) => {
  const simulator = await ownSimulator(t);
  const debug = await startService(t, { simulator });
  await debug.app.prepare();
  const admin = await firstAdmin(debug);
  await debug.stop();
  const service = await startService(t, { ...REAL, url: debug.databaseUrl, simulator });
  const { call } = await admin.logInAt(service.url);
  const write = (sent: object) => call('POST', '/api/v1/payment/config/alipay', sent);
  const upload = (sent: object) => call('POST', '/api/v1/certs/upload', { payWay: 'alipay', ...sent });
  const { mode, appId, alipay_app_key, alipay_public_key } = LIVE_ALIPAY;
  const key = { kind: 'alipay_public_key', content: alipay_public_key };

  const rows = await service.app.store.read((tx) => tx.certs.list({ kind: 'alipay_public_key', mode: 'simulator' }));
  const forged = await upload({ ...key, content: rows[0]!.publicPem, mode, account: appId });
  t.deepEqual(
    [forged.status, forged.body.errors[0].code],
    [400, 'unusable'],
    'a key of the simulator is none of a channel',
  );
  const half = await upload({ ...key, mode });
  t.deepEqual([half.status, half.body.errors[0].pointer], [400, '/account']);
  t.is((await upload({ ...key, mode: 'nowhere', account: appId })).status, 400);

  // A simulator configuration does not count here, so the upload belongs to the first one that counts.
  t.like((await upload(key)).body.data, { mode: null, account: null, isDefault: true });
  const unfinished = (await write({ mode: 'sandbox', appId })).body.data;
  t.deepEqual(unfinished.missing, ['alipay_app_key'], "it stored the uploaded key, not the simulator's");
  t.deepEqual(
    unfinished.ofOtherAccounts.map((one: { kind: string; mode: string }) => [one.kind, one.mode]),
    [['alipay_app_key', 'simulator']],
  );
  const signing = { kind: 'alipay_app_key', content: alipay_app_key };
  t.like((await upload(signing)).body.data, { mode: 'sandbox', account: appId });
  t.true((await call('GET', '/api/v1/payment/config/alipay')).body.data.configured);

  const other = await write({ appId: '2021009999999902' });
  t.is(other.status, 400, 'an incomplete key set replaces no complete one of the same mode');
  t.regex(other.body.errors[0].detail, /is stored only for sandbox 2021009999999901/);
  const live = (await write({ mode, appId })).body.data;
  t.deepEqual([live.configured, live.missing], [false, ['alipay_app_key', 'alipay_public_key']]);
  t.like((await upload({ ...key, mode, account: appId })).body.data, {
    mode: 'live',
    trust: 'trusted',
    isDefault: true,
  });
  t.is((await upload({ ...key, mode, account: appId })).body.code, 'certificate_exists');
  t.like((await upload(signing)).body.data, { mode: 'live', account: appId });
  t.true((await call('GET', '/api/v1/payment/config/alipay')).body.data.configured);
  const sandbox = (await write({ mode: 'sandbox' })).body.data;
  t.deepEqual(sandbox.missing, ['alipay_public_key'], 'its key was distrusted when the channel went live');
  t.is(sandbox.untrusted[0].kind, 'alipay_public_key');
  t.is((await call('POST', `/api/v1/certs/${sandbox.untrusted[0].id}/trust`)).status, 200);
  t.true((await call('GET', '/api/v1/payment/config/alipay')).body.data.configured);
});
