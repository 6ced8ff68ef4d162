import test from 'ava';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../world.ts';
import { call, configOf, nativeOrder, newNo, startWechat, type How, type Raw } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const NATIVE = '/v3/pay/transactions/native';
const create = (how: How) => call(world, config, 'POST', NATIVE, nativeOrder(config), how);
const isSigned = ({ headers }: Raw) => headers['wechatpay-signature'] !== undefined;
const messageOf = ({ body }: Raw) => (JSON.parse(body) as { message: string }).message;

test.serial('a correctly signed request is accepted, and its response is signed', async (t) => {
  const answer = await create({});
  t.is(answer.status, 200, answer.body);
  t.true(isSigned(answer));
});

// wechatpay-java looks for exactly these header names (wechatpay-apiv3/wechatpay-java@1dab7be core/http/Constant.java).
const SIGNED = ['Wechatpay-Serial', 'Wechatpay-Signature', 'Wechatpay-Timestamp', 'Wechatpay-Nonce'];

test.serial("response headers have WeChat Pay's exact spelling", async (t) => {
  const { names } = await create({});
  for (const name of [...SIGNED, 'Request-ID', 'Content-Type']) t.true(names.includes(name), `${name}: ${names}`);
  const refused = await create({ signature: 'AAAA' });
  for (const name of ['Request-ID', 'Content-Type']) t.true(refused.names.includes(name), refused.names.join());
});

const longAgo = Math.floor(Date.now() / 1000) - 600;
for (const [what, how, message] of [
  ['no Authorization', { without: ['authorization'] }, /格式/],
  ['a malformed Authorization', { authorization: 'WECHATPAY2-SHA256-RSA2048 mchid=1' }, /格式/],
  ['another scheme', { authorization: 'Bearer abc' }, /格式/],
  ['a timestamp of ten minutes ago', { timestamp: longAgo }, /timestamp/],
  ['an old timestamp and a wrong signature', { timestamp: longAgo, signature: 'AAAA' }, /timestamp/],
  ['a timestamp of ten minutes ahead', { timestamp: longAgo + 1200 }, /timestamp/],
  ['another merchant', { mchid: '1900000999' }, /mchid/],
  ['an unknown serial', { serial: 'ABCDEF' }, /serial/],
  ['a wrong signature', { signature: Buffer.alloc(256).toString('base64') }, /签名/],
] as const) {
  test.serial(`${what}: 401 SIGN_ERROR, unsigned`, async (t) => {
    const answer = await create(how);
    t.is(answer.status, 401);
    t.is(answer.code, 'SIGN_ERROR');
    t.regex(messageOf(answer), message);
    t.false(isSigned(answer));
  });
}

test.serial('the serial is compared without case and leading zeros', async (t) => {
  const { X509Certificate } = await import('node:crypto');
  const { serialNumber } = new X509Certificate(config.pems.wechat_merchant_cert?.[0] ?? '');
  t.is((await create({ serial: `00${serialNumber.toLowerCase()}` })).status, 200);
});

for (const header of ['user-agent', 'accept']) {
  for (const [method, path] of [
    ['GET', '/v3/certificates'],
    ['POST', '/v3/refund/domestic/refunds'],
    ['GET', '/v3/refund/domestic/refunds/R1'],
  ] as const) {
    test.serial(`${method} ${path} without ${header}: 400 before the signature check`, async (t) => {
      const body = method === 'POST' ? {} : undefined;
      const answer = await call(world, config, method, path, body, { without: [header, 'authorization'] });
      t.is(answer.status, 400);
      t.is(answer.code, 'INVALID_REQUEST');
      t.false(isSigned(answer));
    });
  }
  test.serial(`a create needs no ${header}`, async (t) => {
    t.is((await create({ without: [header] })).status, 200);
  });
}

for (const [method, path, status] of [
  ['GET', NATIVE, 405],
  ['DELETE', '/v3/certificates', 405],
  ['POST', '/v3/certificates', 405],
  ['GET', '/v3/nothing', 404],
  ['POST', '/v3/pay/transactions/barcode', 404],
  ['GET', '/', 404],
] as const) {
  test.serial(`${method} ${path}: ${status} without a body`, async (t) => {
    const answer = await call(world, config, method, path);
    t.is(answer.status, status);
    t.is(answer.body, '');
    t.false(isSigned(answer));
  });
}

test.serial('an advanced simulator clock does not affect signatures', async (t) => {
  await world.post('/sim/clock', { advanceSeconds: 3600 });
  t.is((await create({})).status, 200);
});

test.serial('a refusal after the signature check is signed', async (t) => {
  const answer = await call(
    world,
    config,
    'GET',
    `/v3/pay/transactions/out-trade-no/${newNo()}?mchid=${config.fields.mchid}`,
  );
  t.is(answer.status, 404);
  t.is(answer.code, 'ORDER_NOT_EXIST');
  t.true(isSigned(answer));
});
