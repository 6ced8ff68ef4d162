import test from 'ava';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { request, startService, until, type Service } from '../support/service.ts';
import { addSkill, offerSkill, redeemAt } from '../support/skillpay.ts';

const ordersOf = (service: Service) => service.app.store.read((tx) => tx.orders.list({}));

test.serial('40 repeats of an ended offer at two replicas create one successor, never two', async (t) => {
  const service = await startService(t);
  const twin = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
  const shop = await service.merchant();
  await addSkill(service);
  for (let round = 0; round < count(100, 5); round += 1) {
    const outTradeNo = await offerSkill(shop);
    const ended = { state: 'closed', closeReason: 'expired', nextCheckAt: null } as const;
    await service.app.store.transaction((tx) => tx.orders.update({ orderNo: outTradeNo }, ended));
    const before = (await ordersOf(service)).length;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => redeemAt(index % 2 ? service.url : twin.url, shop, outTradeNo)),
    );
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [402]);
    const fresh = new Set(answers.flatMap(({ body }) => (body.data ? [body.data.outTradeNo] : [])));
    t.is(fresh.size, 1);
    t.is((await ordersOf(service)).length, before + 1);
  }
});

test.serial('a payer who pays at one channel and switches at the same moment keeps the first payment', async (t) => {
  const service = await startService(t, { env: { PAY_RATE_LIMIT_UNPAID_OFFERS_PER_APP: '1000' } });
  const twin = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
  const shop = await service.merchant();
  await addSkill(service, { payWays: ['wechat', 'alipay'] });
  const rounds = count(400, 20);
  await inParallel(rounds, 4, async (index) => {
    const outTradeNo = await offerSkill(shop);
    const choose = (url: string) =>
      fetch(`${url}/pay/${outTradeNo}/choose/alipay`, { method: 'POST', redirect: 'manual' });
    const pay = service.sim('/sim/pay', { orderNo: outTradeNo }).catch(() => undefined);
    const [chosen] = await Promise.all([choose(index % 2 ? service.url : twin.url), choose(service.url), pay]);
    t.is(chosen.status, 303);
    const next = (chosen.headers.get('location') ?? '').replace(/^\/pay\/|\?.*$/g, '');
    if (next !== outTradeNo) await service.sim('/sim/pay', { orderNo: next });
    const answer = await until('the content', async () => {
      const one = await redeemAt(service.url, shop, outTradeNo);
      return one.status === 200 && one;
    });
    t.deepEqual(answer.body.data.content, { sky: 'blue' });
  });
  await runUntilQuiet(service, 7200);
  await assertLedgersMatch(t, service);
  const orders = await ordersOf(service);
  const kept = orders.filter(({ paid, refunded }) => paid > refunded);
  t.is(kept.length, rounds, 'each call is paid once: second payments were refunded');
  t.is((await request(service.url, 'GET', '/health')).status, 200);
});
