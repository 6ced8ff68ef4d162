import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openOwnMarket, type Market } from '../../support/market.ts';
import { coverRoutes } from '../../support/route-file.ts';
import { until, type Answer } from '../../support/service.ts';
import { addSkill, callSkill, paySkill } from '../../support/skillpay.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin: call } = file;
coverRoutes(test, file);

interface Developer {
  developerId: string;
  keyId: string;
  privateKey: string;
}

const path = (project: string, rest = '') => `/api/v1/skillpay/agent-pay${rest}?project=${encodeURIComponent(project)}`;
const code = (answer: Answer) => answer.headers.get('weixinpay-required');

/** A market that sells `weather`, with payment codes for agents enabled in its project. */
async function agentMarket(changes: Parameters<typeof addSkill>[1] = {}): Promise<Market & { developer: Developer }> {
  const market = await openOwnMarket(file);
  const { project } = market;
  await addSkill(service, { project, ...changes });
  // The simulator creates the account of a project when its first order is placed.
  await callSkill(market.shop, { resource: 'weather', payWay: 'wechat' });
  const developer = (await service.sim('/sim/agent/developer', {
    account: project,
    skills: ['weather-report'],
  })) as unknown as Developer;
  const { developerId, keyId, privateKey } = developer;
  const skills = { weather: { id: 'weather-report', version: '1.0.0' } };
  const answer = await call('PUT', path(project), { developerId, keyId, privateKey, skills });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return { ...market, developer };
}

const offer = ({ shop }: Market) => callSkill(shop, { resource: 'weather', payWay: 'wechat' });
const repeat = ({ shop }: Market, no: string) => callSkill(shop, { resource: 'weather' }, no);

test.serial('an agent of WeChat pays by the published steps: 402, payment code, the same call, 200 once', async (t) => {
  const market = await agentMarket();
  const asked = await offer(market);
  t.is(asked.status, 402);
  const paymentCode = code(asked);
  t.regex(paymentCode ?? '', /^PAYCODE_/);
  t.is(asked.body.WeixinPay['WeixinPay-Required'], paymentCode);
  t.regex(asked.body.WeixinPay.prompt, /weixinpay_pay/);
  t.not(asked.headers.get('weixin-pay-required'), paymentCode);
  const no = asked.headers.get('x-out-trade-no')!;
  t.is(code(await repeat(market, no)), paymentCode, 'the same code until it is paid');
  t.like(await service.sim('/sim/agent/pay', { paymentCode }), { orderNo: no, state: 'paid' });
  await until('the order is paid', async () => {
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo: no }));
    return order?.state === 'paid';
  });
  const given = await repeat(market, no);
  t.is(given.status, 200);
  t.like(given.body.data, { content: { sky: 'blue' }, alreadyFulfilled: false });
  t.true((await repeat(market, no)).body.data.alreadyFulfilled);
  const { orders } = (await service.sim(`/sim/ledger?orderNo=${no}`)) as unknown as { orders: object[] };
  t.like(orders, [{ paid: 50 }]);
});

test.serial('all headers of the 402 together are below 4 KB', async (t) => {
  const market = await agentMarket({ name: '天'.repeat(127) });
  const { headers } = await offer(market);
  const size = [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  t.truthy(headers.get('weixinpay-required'));
  t.true(size < 4096, `${size} bytes`);
});

for (const fault of ['502', '500-after-commit', 'html', 'half-body', 'redirect'] as const) {
  test.serial(
    `a preorder that fails (${fault}) leaves the 402 unchanged, and the next repeat tries again`,
    async (t) => {
      const market = await agentMarket();
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'agent-preorder', fault, times: 1 });
      const asked = await offer(market);
      t.is(asked.status, 402);
      t.is(code(asked), null);
      t.is(asked.body.WeixinPay, undefined);
      t.truthy(asked.headers.get('weixin-pay-required'));
      const no = asked.headers.get('x-out-trade-no')!;
      const { lastFailure, lastSuccessAt } = (await call('GET', path(market.project))).body.data;
      t.truthy(lastFailure);
      t.is(lastSuccessAt, null);
      const again = await repeat(market, no);
      t.regex(code(again) ?? '', /^PAYCODE_/);
      t.is(again.headers.get('x-out-trade-no'), no);
      await paySkill(service, no);
      t.is((await repeat(market, no)).status, 200);
    },
  );
}

test.serial('two concurrent repeats return the same code', async (t) => {
  const market = await agentMarket();
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'agent-preorder', fault: '502', times: 1 });
  const no = (await offer(market)).headers.get('x-out-trade-no')!;
  const codes = await Promise.all([1, 2, 3, 4].map(async () => code(await repeat(market, no))));
  t.is(new Set(codes).size, 1);
  t.truthy(codes[0]);
});

test.serial('other payment channels, other skills and other projects have no WeChat code', async (t) => {
  const market = await agentMarket();
  await addSkill(service, { project: market.project, code: 'news' });
  for (const body of [
    { resource: 'weather', payWay: 'alipay' },
    { resource: 'news', payWay: 'wechat' },
  ])
    t.is(code(await callSkill(market.shop, body)), null);
  const plain = await openOwnMarket(file);
  await addSkill(service, { project: plain.project });
  t.is(code(await offer(plain)), null);
});

test.serial('the key is stored encrypted and never returned; omitted members are unchanged', async (t) => {
  const { project, developer } = await agentMarket();
  const shown = await call('GET', path(project));
  t.like(shown.body.data, { developerId: developer.developerId, keyId: developer.keyId, mode: 'simulator' });
  t.false(JSON.stringify(shown.body).includes('PRIVATE'));
  const row = await service.app.store.read((tx) => tx.agentPays.find({ project }));
  t.regex(row?.encrypted ?? '', /^s1\./);
  const { fingerprint } = shown.body.data;
  const changed = await call('PUT', path(project), { keyId: 'PUB_KEY_OTHER' });
  t.like(changed.body.data, { keyId: 'PUB_KEY_OTHER', developerId: developer.developerId, fingerprint });
});

test.serial(
  'a test reports whether the key is valid, and a removed key is deleted and pays no more codes',
  async (t) => {
    const market = await agentMarket();
    const { project, developer } = market;
    const tested = () => call('POST', path(project, '/test'));
    t.like((await tested()).body.data, { ok: true });
    await call('PUT', path(project), { keyId: 'PUB_KEY_OTHER' });
    const wrong = (await tested()).body.data;
    t.false(wrong.ok);
    t.regex(wrong.message, /KEY_PAIR_MISMATCH/);
    await call('PUT', path(project), { keyId: developer.keyId });
    t.is((await call('DELETE', path(project))).status, 200);
    for (const [method, rest] of [['GET'], ['DELETE'], ['POST', '/test']] as const)
      t.is((await call(method, path(project, rest))).status, 404);
    t.is(code(await offer(market)), null);
  },
);

test.serial('unusable settings are rejected', async (t) => {
  const { project } = await openOwnMarket(file);
  const put = (body: object) => call('PUT', path(project), body);
  const whole = { developerId: 'sh-1', keyId: 'PUB_KEY_1', privateKey: 'nonsense' };
  t.like((await put(whole)).body, { status: 400, errors: [{ pointer: '/privateKey' }] });
  t.like((await put({ developerId: 'sh-1' })).body, { status: 400, errors: [{ pointer: '/keyId' }] });
  t.like((await put({ skills: { nothing: { id: 'a', version: '1' } } })).body, { status: 400 });
  t.is((await call('PUT', path('nowhere'), {})).status, 404);
  for (const [method, rest] of [['GET'], ['DELETE'], ['POST', '/test']] as const)
    t.is((await call(method, path('no such code', rest))).status, 400);
});

test.serial('an expired code is renewed while the order is open', async (t) => {
  service.clock.stop();
  const market = await agentMarket({ offerTtlSeconds: 3600 });
  const asked = await offer(market);
  const no = asked.headers.get('x-out-trade-no')!;
  service.clock.advance(899);
  t.is(code(await repeat(market, no)), code(asked));
  service.clock.advance(2);
  const renewed = await repeat(market, no);
  t.regex(code(renewed) ?? '', /^PAYCODE_/);
  t.not(code(renewed), code(asked));
  t.is(renewed.headers.get('x-out-trade-no'), no);
});
