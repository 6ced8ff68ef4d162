import test, { type ExecutionContext } from 'ava';
import type { Delivery } from '../../server/simulator/notice.ts';
import { startSimulator } from '../../server/simulator/simulator.ts';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { temporaryFolder } from '../support/folder.ts';
import { createForger, type Facts, type Forger } from '../support/forge.ts';
import { type Attack, type Way, WAYS } from '../support/key-forgery.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { request, startService, type Merchant, type Service } from '../support/service.ts';
import { withOrder } from '../support/wrong-notices.ts';

/** A project for every way of verifying, at a simulator whose folder is known; no notice is delivered by itself. */
interface Stage {
  service: Service;
  admin: Admin;
  /** Sends as the administrator who may only look. */
  viewer: Admin['call'];
  forger: Forger;
  dir: string;
}

/** One way in its own project, with an order that somebody wants for nothing. */
interface Scene extends Stage {
  way: Way;
  project: string;
  shop: Merchant;
  template: Facts;
}

async function stage(t: ExecutionContext): Promise<Stage> {
  const dir = temporaryFolder(t);
  const simulator = await startSimulator({ dir, listen: { host: '127.0.0.1', port: 0 } });
  t.teardown(() => simulator.close());
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

/** An order that its payer has paid without us knowing, and the message that says so. */
async function untold({ service }: Stage, shop: Merchant, { payWay }: Way) {
  const orderNo = await placeOrder(shop, { payWay });
  await service.sim('/sim/pay', { orderNo });
  await service.sim('/sim/notify', { orderNo });
  const { deliveries } = (await service.sim(`/sim/deliveries?orderNo=${orderNo}`)) as unknown as {
    deliveries: Delivery[];
  };
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

/** Says with the attacker's key that an order is paid; whether it was believed. */
async function forge(scene: Scene, { envelope }: Attack, orderNo: string): Promise<boolean> {
  const { forger, way, project, template, service } = scene;
  const facts = withOrder(way.payWay, template, orderNo, '');
  const status = await post(service, project, way, await forger.sign(way.payWay, project, facts, envelope));
  const isPaid = (await stateOf(service, orderNo)) === 'paid';
  if (isPaid !== (status === 200)) throw new Error(`${way.name}: ${status}, paid: ${isPaid}`);
  return isPaid;
}

test('an application that may manage certificates cannot have its own key believed', async (t) => {
  const on = await stage(t);
  for (const way of WAYS) {
    const scene = await sceneOf(on, way);
    const mole = await on.service.merchant({ project: scene.project, scopes: ['cert:manage'], trusted: true });
    const attack = await way.attack(on.forger.secretsOf(way.payWay, scene.project), on.dir);
    const victim = await placeOrder(scene.shop, { payWay: way.payWay });
    const { payWay, kind } = way;
    const upload = await mole.call('POST', '/api/v2/certs/upload', { payWay, kind, content: attack.pem });
    t.is(upload.status, 201, JSON.stringify(upload.body));
    t.false(await forge(scene, attack, victim), way.name);
  }
});
