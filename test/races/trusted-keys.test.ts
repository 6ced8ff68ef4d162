import test, { type ExecutionContext } from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { createForger, type Facts, type Forger } from './forge.ts';
import { type Attack, type Way, WAYS } from './key-forgery.ts';
import { isLong } from '../support/counts.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { request, startService, type Merchant, type Service } from '../support/service.ts';
import { withOrder } from './wrong-notifications.ts';
import { ownSimulator } from '../support/simulator.ts';
import { fixture, publicOf } from '../unit/credentials/material.ts';

const LIVE_ALIPAY = {
  mode: 'live',
  appId: '2021009999999901',
  sellerId: '2088999999999901',
  alipay_app_key: fixture('app.key'),
  alipay_public_key: publicOf(fixture('alipay.key')),
};

/** A project for every way of verifying, at a simulator with a known folder; notifications are off. */
interface Stage {
  service: Service;
  admin: Admin;
  /** Calls as an administrator with read access only. */
  viewer: Admin['call'];
  forger: Forger;
  dir: string;
}

/** One way in its own project, with an order that an attacker wants without paying. */
interface Scene extends Stage {
  way: Way;
  project: string;
  shop: Merchant;
  template: Facts;
}

async function stage(t: ExecutionContext): Promise<Stage> {
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const service = await startService(t, { simulator });
  const admin = await firstAdmin(service);
  const account = { username: 'looker', password: 'nine-slow-herons-wade' };
  await admin.call('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  const { token } = (await request(service.url, 'POST', '/api/v1/login', account)).body.data;
  const viewer: Admin['call'] = (method, path, body) =>
    request(service.url, method, path, body, { authorization: `Bearer ${token}` });
  for (const payWay of ['alipay', 'wechat']) await service.sim('/sim/notices', { payWay, enabled: false });
  return { service, admin, viewer, forger: createForger(dir), dir };
}

async function sceneOf(on: Stage, way: Way): Promise<Scene> {
  const project = `way-${WAYS.indexOf(way)}`;
  await on.service.sim('/sim/accounts', { payWay: way.payWay, name: project, ...way.account });
  await on.admin.call('POST', '/api/v1/projects', { code: project, name: project });
  const shop = await on.service.merchant({ project });
  const { orderNo, delivery } = await untold(on, shop, way);
  const template = on.forger.factsOf(delivery);
  const genuine = await post(on.service, project, way, { headers: delivery.headers, body: bodyOf(delivery) });
  if (genuine !== 200 || (await stateOf(on.service, orderNo)) !== 'paid') throw new Error(`genuine: ${genuine}`);
  return { ...on, way, project, shop, template };
}

/** An order whose payment is unknown to the service, and the message about it. */
async function untold({ service }: Stage, shop: Merchant, { payWay }: Way) {
  const orderNo = await placeOrder(shop, { payWay });
  await service.sim('/sim/pay', { orderNo });
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  return { orderNo, delivery: deliveries[0]! };
}

const bodyOf = ({ bodyBase64 }: Delivery) => Buffer.from(bodyBase64, 'base64');

async function post(
  service: Pick<Service, 'url'>,
  project: string,
  { payWay }: Way,
  { headers, body }: { headers: Record<string, string>; body: Buffer },
): Promise<number> {
  const sent = { method: 'POST', headers, body: new Uint8Array(body) };
  return (await fetch(`${service.url}/notify/${payWay}/${project}`, sent)).status;
}

/** Reports an order as paid with the attacker's key; returns whether it was accepted. */
async function forge(scene: Scene, { envelope }: Attack, orderNo: string, facts?: Facts, at = scene.service) {
  const { forger, way, project, template } = scene;
  const said = facts ?? withOrder(way.payWay, template, orderNo, '');
  const status = await post(at, project, way, await forger.sign(way.payWay, project, said, envelope));
  const isPaid = (await stateOf(scene.service, orderNo)) === 'paid';
  if (isPaid !== (status === 200)) throw new Error(`${way.name}: ${status}, paid: ${isPaid}`);
  return isPaid;
}

type Send = Admin['call'];

/** A user with or without permission to upload keys. */
interface Uploader {
  name: string;
  send: Send;
  version: 'v1' | 'v2';
}

async function uploaders({ service, admin, viewer }: Stage, project: string): Promise<Uploader[]> {
  const app = async (...scopes: string[]) => {
    const { call } = await service.merchant({ project, scopes: scopes as never, trusted: true });
    return { name: `an application with ${scopes.join(' and ')}`, send: call, version: 'v2' as const };
  };
  return [
    { name: 'an administrator', send: admin.call, version: 'v1' },
    { name: 'an administrator who may only look', send: viewer, version: 'v1' },
    await app('payment:write', 'payment:read'),
    await app('config:write'),
    await app('cert:manage'),
    await app('cert:manage', 'config:write'),
    await app('admin'),
  ];
}

/** How a key is uploaded: as a file of its own, or as a member of the configuration. */
const METHODS = {
  upload: ({ payWay, kind }: Way, content: string) => ['certs/upload', { payWay, kind, content }],
  configuration: ({ payWay, kind }: Way, content: string) => [`payment/config/${payWay}`, { [kind]: content }],
} as const;

interface Shown {
  id: string;
  kind: string;
  trust: string | null;
  isDefault: boolean;
  fingerprint: string;
}

async function certsOf({ admin, project, way }: Scene): Promise<Shown[]> {
  const { body } = await admin.call('POST', `/api/v1/certs/list?project=${project}`, { kind: way.kind });
  return body.data;
}

const changeCert = ({ admin }: Scene, { id }: Shown, verb: string) => admin.call('POST', `/api/v1/certs/${id}/${verb}`);

/** The counts of one row of the table. */
interface Counts {
  brought: number;
  refused: number;
  forged: number;
  acceptedUntrusted: number;
  acceptedUnpaid: number;
  acceptedPaid: number;
}

/** Uploads a key in some way, and checks its messages before it is trusted, while it is trusted, and afterwards. */
async function row(
  t: ExecutionContext,
  scene: Scene,
  attack: Attack,
  { uploader, method, alone }: { uploader: Uploader; method: keyof typeof METHODS; alone: boolean },
): Promise<Counts> {
  const { way, project, service } = scene;
  const what = `${way.name}, ${uploader.name}, ${method}${alone ? ', as the default' : ''}`;
  const counts = { brought: 0, refused: 0, forged: 0, acceptedUntrusted: 0, acceptedUnpaid: 0, acceptedPaid: 0 };
  const victim = await placeOrder(scene.shop, { payWay: way.payWay });
  const paid = await untold(scene, scene.shop, way);
  const genuine = (await certsOf(scene)).filter(({ trust }) => trust === 'trusted');
  if (alone) for (const one of genuine) await changeCert(scene, one, 'distrust');

  const [path, body] = METHODS[method](way, attack.pem);
  const query = uploader.version === 'v1' ? `?project=${project}` : '';
  const { status } = await uploader.send('POST', `/api/${uploader.version}/${path}${query}`, body);
  const own = (await certsOf(scene)).find(({ id }) => genuine.every((one) => one.id !== id));
  const believed = async (isPaid: boolean) => {
    counts.forged += 1;
    if (!isPaid) return forge(scene, attack, victim);
    return forge(scene, attack, paid.orderNo, scene.forger.factsOf(paid.delivery));
  };

  if (!own) {
    t.is(status, 403, what);
    counts.refused = 1;
  } else {
    counts.brought = 1;
    t.true(status === 200 || status === 201, `${what}: ${status}`);
    t.is(own.trust, uploader.name === 'an administrator' ? 'trusted' : 'waiting', what);
    if (alone) t.true(own.isDefault, what);
    else
      t.is(
        (await certsOf(scene)).find(({ isDefault }) => isDefault)?.id === own.id,
        own.trust === 'trusted' && method === 'configuration',
        what,
      );
  }
  if (own?.trust !== 'trusted') {
    if (own)
      for (const verb of ['default', 'trust'])
        await uploader.send('POST', `/api/${uploader.version}/certs/${own.id}/${verb}`);
    for (const isPaid of [false, true]) if (await believed(isPaid)) counts.acceptedUntrusted += 1;
  }
  if (own) {
    t.is((await changeCert(scene, own, 'trust')).status, 200, what);
    if (await believed(false)) counts.acceptedUnpaid += 1;
    const isBelieved = await believed(true);
    if (isBelieved) counts.acceptedPaid += 1;
    // With every genuine key distrusted, including one that WeChat Pay would issue again, the channel cannot be queried.
    t.is(isBelieved, !alone, `${what}: a young key counts if the channel confirms the payment`);
    t.is((await changeCert(scene, own, 'distrust')).status, 200, what);
    if (await believed(false)) counts.acceptedUntrusted += 1;
    t.is((await changeCert(scene, own, 'delete')).status, 200, what);
  }
  for (const one of genuine) {
    await changeCert(scene, one, 'trust');
    await changeCert(scene, one, 'default');
  }
  if (await believed(false)) counts.acceptedUntrusted += 1;
  t.is(await stateOf(service, victim), 'pending', what);
  return counts;
}

/** How a key is uploaded, and whether it is alone or beside the genuine one. */
const KINDS = (['upload', 'configuration'] as const).flatMap((method) =>
  [false, true].map((alone) => ({ method, alone })),
);

test('no message signed with an untrusted key is accepted, in any way of verifying', async (t) => {
  const on = await stage(t);
  const total: Record<string, number> = {};
  let rows = 0;
  for (const [w, way] of WAYS.entries()) {
    const scene = await sceneOf(on, way);
    const attack = await way.attack(on.forger.secretsOf(way.payWay, scene.project), on.dir);
    for (const [u, uploader] of (await uploaders(on, scene.project)).entries())
      for (const [k, kind] of KINDS.entries()) {
        // In a short run each uploader uploads one key in each way of verifying, and each kind of row once in all.
        if (!isLong && (w + u) % KINDS.length !== k) continue;
        rows += 1;
        const counts = await row(t, scene, attack, { uploader, ...kind });
        for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
      }
  }
  const tables = isLong ? WAYS.length : 1;
  t.is(total['acceptedUntrusted'], 0);
  t.is(total['acceptedUnpaid'], 0);
  t.is(total['brought'], 14 * tables);
  t.is(total['refused'], rows - 14 * tables);
  t.is(total['acceptedPaid'], 7 * tables);
  t.log(
    `${rows} rows: ${Object.entries(total)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  );
});

test('a removed key verifies nothing on any replica once the response is sent', async (t) => {
  const on = await stage(t);
  const { service } = on;
  const second = await startService(t, {
    url: service.databaseUrl,
    simulator: service.simulator,
    now: service.clock.now,
  });
  for (const way of WAYS) {
    const scene = await sceneOf(on, way);
    const attack = await way.attack(on.forger.secretsOf(way.payWay, scene.project), on.dir);
    const { payWay, kind } = way;
    for (const verb of ['distrust', 'delete']) {
      const upload = { payWay, kind, content: attack.pem };
      const { body } = await on.admin.call('POST', `/api/v1/certs/upload?project=${scene.project}`, upload);
      const told = await untold(on, scene.shop, way);
      const facts = on.forger.factsOf(told.delivery);
      t.true(await forge(scene, attack, told.orderNo, facts, second), `${way.name}: trusted, on the other replica`);
      const [here, there] = await Promise.all([untold(on, scene.shop, way), untold(on, scene.shop, way)]);
      t.is((await on.admin.call('POST', `/api/v1/certs/${body.data.id}/${verb}`)).status, 200);
      t.false(
        await forge(scene, attack, there.orderNo, on.forger.factsOf(there.delivery), second),
        `${way.name} ${verb}`,
      );
      t.false(await forge(scene, attack, here.orderNo, on.forger.factsOf(here.delivery)), `${way.name} ${verb}`);
      if (verb === 'distrust') await on.admin.call('POST', `/api/v1/certs/${body.data.id}/delete`);
    }
    const genuine = await untold(on, scene.shop, way);
    const message = { headers: genuine.delivery.headers, body: bodyOf(genuine.delivery) };
    t.is(await post(second, scene.project, way, message), 200, 'the genuine key still verifies');
  }
});

test('no application, other project or Debug mistake can block the key of a live account', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const { call } = await firstAdmin(service);
  await call('POST', '/api/v1/projects', { code: 'elsewhere', name: 'Elsewhere' });
  const { mode, appId, alipay_app_key, alipay_public_key } = LIVE_ALIPAY;
  const key = { payWay: 'alipay', kind: 'alipay_public_key', content: alipay_public_key };
  const upload = (sent: object, project = 'default') =>
    call('POST', `/api/v1/certs/upload?project=${project}`, { ...key, ...sent });

  for (const project of ['default', 'elsewhere']) {
    const shop = await service.merchant({ project, scopes: ['config:write', 'cert:manage'], trusted: true });
    const claim = await shop.call('POST', '/api/v2/certs/upload', { ...key, mode: 'simulator', account: 'none' });
    t.like(claim.body.data, { mode: 'simulator', trust: 'waiting' });
  }
  t.is((await upload({ mode: 'simulator', account: 'slip' }, 'elsewhere')).status, 201);
  t.like((await upload({ mode, account: appId })).body.data, { mode: 'live', trust: 'trusted' });

  // Without an account the key is for the active configuration, which in Debug is the simulator's; deleted there it is the
  // account's.
  const other = publicOf(alipay_app_key);
  const slip = (await upload({ content: other })).body.data;
  t.is(slip.mode, 'simulator');
  const refused = await upload({ content: other, mode, account: appId });
  t.deepEqual([refused.status, refused.body.errors[0].code], [400, 'unusable']);
  t.true(refused.body.errors[0].detail.includes(slip.id), refused.body.errors[0].detail);
  t.is((await call('POST', `/api/v1/certs/${slip.id}/delete`)).status, 200);
  t.like((await upload({ content: other, mode, account: appId })).body.data, { mode: 'live', trust: 'trusted' });

  const [own] = await service.app.store.read((tx) =>
    tx.certs.list({ kind: 'alipay_public_key', createdBy: 'simulator', project: 'default' }),
  );
  t.is((await call('POST', `/api/v1/certs/${own!.id}/delete`)).status, 200);
  const forged = await upload({ content: own!.publicPem, mode, account: appId }, 'elsewhere');
  t.is(forged.status, 400, "the simulator's key stays the simulator's");
});

test('a key uploaded for an account and again without one is a single key, and is distrusted as one', async (t) => {
  const service = await startService(t, { env: { PAY_DEBUG: 'false' } });
  const { call } = await firstAdmin(service);
  const { mode, appId, alipay_public_key, ...rest } = LIVE_ALIPAY;
  const key = { payWay: 'alipay', kind: 'alipay_public_key', content: alipay_public_key };
  const named = (await call('POST', '/api/v1/certs/upload', { ...key, mode, account: appId })).body.data;
  t.is((await call('POST', '/api/v1/certs/upload', key)).body.data.mode, null);
  const config = await call('POST', '/api/v1/payment/config/alipay', { ...rest, mode, appId });
  t.deepEqual(config.body.data.missing, [], JSON.stringify(config.body));
  t.is((await call('POST', `/api/v1/certs/${named.id}/distrust`)).status, 200);
  const kept = (await call('GET', '/api/v1/payment/config/alipay')).body.data;
  t.deepEqual(kept.missing, ['alipay_public_key']);
});
