import test from 'ava';
import { payerPage, type Place } from '../../server/pages/payer-page.ts';
import { PAYER_WORDS_EN } from '../../server/pages/payer-words.ts';
import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import type { PayWay } from '../../server/payments/channel.ts';
import type { PayerOrder, PayerState } from '../../server/payments/orders/payer.ts';
import { fits, openBrowser, picture, watch } from './browser.ts';
import { ORDER_SCENES, requestIn } from '../support/order-scenes.ts';
import { placeOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

const IN_THE_APP = 'Please complete the payment in the app where you started it.';

/** The instruction on the page of each scene. */
const TELLS: Readonly<Record<string, string>> = {
  'alipay qr': 'Scan this code with the Alipay app, or open it on this device.',
  'alipay page': 'Pay with Alipay',
  'alipay wap': 'Pay with Alipay',
  'alipay app': IN_THE_APP,
  'alipay jsapi': IN_THE_APP,
  'alipay mini': IN_THE_APP,
  'alipay code': 'Please confirm the payment in the Alipay app on your phone.',
  'wechat qr': 'Scan this code with the WeChat app, or open it on this device.',
  'wechat h5': 'Pay with WeChat Pay',
  'wechat app': IN_THE_APP,
  'wechat jsapi': IN_THE_APP,
  'wechat mini': IN_THE_APP,
  'wechat code': 'Please confirm the payment in the WeChat app on your phone.',
  'paypal redirect': 'Pay with PayPal',
};

test.serial('the page of every scene shows its instruction and fits a small phone', async (t) => {
  const known = [...CHANNEL_KINDS].flatMap(([payWay, { scenes }]) =>
    Object.keys(scenes).map((scene) => `${payWay} ${scene}`),
  );
  t.deepEqual(ORDER_SCENES.map(({ payWay, scene }) => `${payWay} ${scene}`).toSorted(), known.toSorted());
  const service = await startService(t);
  const shop = await service.merchant();
  const page = await (await openBrowser(t)).newPage();
  const faults = watch(page);
  for (const one of ORDER_SCENES) {
    const { payWay, scene } = one;
    const request = { subject: 'Two coffees and a very long name of a shop, 两杯咖啡', amount: 12.5 };
    const orderNo = await placeOrder(shop, requestIn(one, request));
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(`${service.url}/pay/${orderNo}`);
    await page.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    const told = await page.locator('.pay :is(p, a.go)').first().innerText();
    t.is(told, TELLS[`${payWay} ${scene}`] ?? 'nothing', `${payWay} ${scene}`);
    t.true(await fits(page), `${payWay} ${scene}`);
    await picture(page, `scene-${payWay}-${scene}`);
  }
  t.deepEqual(faults, []);
});

/** An order in this state with the longest texts and amounts that the page may show. */
function orderIn(state: PayerState, payWay: PayWay): PayerOrder {
  return {
    orderNo: 'P20300101000000ABCDEFGHJK',
    payWay,
    mode: 'live',
    merchant: 'W'.repeat(64),
    subject: 'W'.repeat(127),
    amount: '1000000.00',
    refunded: '999999.99',
    currency: payWay === 'paypal' ? 'USD' : 'CNY',
    state,
    status: 'pending',
    expiresAt: new Date('2030-01-01T00:15:00Z'),
    secondsLeft: 900,
    payment: state === 'waiting' || state === 'declined' ? { type: 'redirect', url: 'https://pay.example.com/' } : null,
    isBrief: false,
    returnUrl: 'https://shop.example.com/thanks',
  };
}

test.serial('the page of every state fits a small phone with the longest texts', async (t) => {
  const service = await startService(t);
  const browser = await openBrowser(t, { javaScriptEnabled: false });
  const page = await browser.newPage();
  const shown: [PayerState, Place][] = Object.keys(PAYER_WORDS_EN.states).map((state) => [state as PayerState, 'pay']);
  for (const [state, place] of [...shown, ['waiting', 'returned'], ['waiting', 'cancelled']] as const) {
    const body = await payerPage(orderIn(state, 'wechat'), place, {
      language: 'en',
      address: '/pay/P20300101000000ABCDEFGHJK',
    });
    // Removes the automatic reload.
    const still = body.replace(/<noscript>.*<\/noscript>/, '');
    await page.route('**/pay/P*', (route) => route.fulfill({ contentType: 'text/html; charset=utf-8', body: still }));
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(`${service.url}/pay/P20300101000000ABCDEFGHJK`);
    t.true(await fits(page), `${state} ${place}`);
    t.is(await page.locator('h1').count(), 1);
    await picture(page, `state-${state}-${place}`);
    await page.unrouteAll();
  }
});
