import { createPublicKey } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Mode } from '../../server/payments/channel.ts';
import { newNumber } from '../../server/payments/numbers.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { createForger, type Facts, type Forger } from '../support/forge.ts';
import { MODE_WAYS, type ModeKey, type ModeWay } from '../support/key-modes.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import { withOrder } from '../support/wrong-notices.ts';
import { fixture, publicOf } from '../unit/credentials/material.ts';
import { insertOrder } from '../unit/credentials/service.ts';

const REAL = { env: { PAY_DEBUG: 'false' } } as const;

/** Built channels remember how old their keys are. */
const AGED = [
  `update certs set trusted_at = now() - interval '3 days' where trusted_at is not null`,
  `update channel_states set trust_revision = trust_revision + 1`,
];

async function age({ app }: Service): Promise<void> {
  await app.store.transaction(async (tx) => {
    for (const sql of AGED) await tx.sql(sql);
  });
}

const LIVE_ALIPAY = {
  mode: 'live',
  appId: '2021009999999901',
  sellerId: '2088999999999901',
  alipay_app_key: fixture('app.key'),
  alipay_public_key: publicOf(fixture('alipay.key')),
};

/** What a channel of the simulator says about a payment that was made there. */
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

/** A key of the table, as it was brought. */
interface TableKey extends ModeKey {
  mode: Mode;
  account: string;
  isDefault: boolean;
  id: string;
}

/** One way in a project of its own, at the service that works its database now. */
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
  /** Modes that were configured so far, the present one last. */
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

/** Configures the account in another mode with keys of its own, and brings keys for another account in that mode. */
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
 * Every key says of an order of every mode that it is paid. Only its own mode and account believe it, while it is trusted; `young`:
 * only what is to be refused, for of a young key the channel is asked.
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

/** The table as a change left it, and again when somebody trusts every key there is; each time with young keys, too. */
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

/** Which keys are trusted, as `mode account`. */
async function trustedIn(on: Table): Promise<string[]> {
  const rows = (await certsOf(on)).filter(({ isTrusted }) => isTrusted);
  return [...new Set(rows.map(({ mode, account }) => `${mode} ${account}`))].toSorted();
}

test('a key verifies in the mode and for the account that it was brought for, and nowhere else', async (t) => {
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
