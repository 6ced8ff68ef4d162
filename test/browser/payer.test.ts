import test from 'ava';
import { browserOfFile, fits, hardToTouch, picture, watch } from './browser.ts';
import { startService, type Service } from '../support/service.ts';

const ends: (() => unknown)[] = [];
const common = await startService({ teardown: (end) => void ends.push(end) });
const openBrowser = await browserOfFile({ teardown: (end) => void ends.push(end) });
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

async function place(service: Service, order: object): Promise<{ orderNo: string; payUrl: string }> {
  const shop = await service.merchant();
  const { body } = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Two coffees', amount: 12.5, ...order });
  return body.data;
}

test.serial('a payer pays through the page, and the page shows the payment without a reload', async (t) => {
  const service = common;
  const browser = await openBrowser(t);
  const { payUrl } = await place(service, { payWay: 'alipay' });
  const page = await browser.newPage();
  const faults = watch(page);
  let loads = 0;
  page.on('load', () => void (loads += 1));
  await page.goto(payUrl);
  await page.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
  t.regex((await page.locator('#left').textContent()) ?? '', /^\d:\d\d:\d\d$/);
  await picture(page, 'waiting');
  await page.setViewportSize({ width: 320, height: 640 });
  t.true(await fits(page));
  t.deepEqual(await hardToTouch(page), []);

  const wallet = await browser.newPage();
  const link = await page.getByRole('link', { name: 'Open Alipay' }).getAttribute('href');
  await wallet.goto(link ?? '');
  await wallet.getByRole('button', { name: 'Pay', exact: true }).click();
  await wallet.getByText('Paid.').waitFor();

  await page.bringToFront();
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  t.is(await page.locator('.qr').count(), 0);
  t.regex(await page.title(), /^Paid/);
  t.is(loads, 1);
  await picture(page, 'paid');
  t.deepEqual(faults, []);
});

test.serial('a payer pays at PayPal, returns, and is redirected to the shop', async (t) => {
  const service = common;
  const browser = await openBrowser(t);
  const shop = `${service.url}/health`;
  const { orderNo } = await place(service, { payWay: 'paypal', returnUrl: shop });
  const page = await browser.newPage();
  const faults = watch(page);
  // Delays the shop until the page, which redirects to it, has been checked.
  const seen = Promise.withResolvers<void>();
  await page.route(`${shop}?*`, async (route) => {
    await seen.promise;
    await route.continue();
  });
  await page.goto(`${service.url}/pay/${orderNo}`);
  await picture(page, 'paypal');
  await page.getByRole('link', { name: 'Pay with PayPal' }).click();
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByRole('link', { name: 'Back to the merchant' }).click();
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  await picture(page, 'returned');
  seen.resolve();
  await page.waitForURL(`${shop}?orderNo=${orderNo}&status=paid`);
  t.deepEqual(faults, []);
});

test.serial(
  'a payer opens WeChat Pay from the page, which sends its referer, even after the first H5 address has expired',
  async (t) => {
    const service = await startService(t);
    const browser = await openBrowser(t);
    const { orderNo } = await place(service, { payWay: 'wechat', scene: 'h5', clientIp: '192.0.2.7' });
    const page = await browser.newPage();
    const faults = watch(page);
    await page.goto(`${service.url}/pay/${orderNo}`);
    service.clock.advance(360);
    await service.sim('/sim/clock', { advanceSeconds: 360 });
    await page.getByRole('link', { name: 'Pay with WeChat Pay' }).click();
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await page.getByRole('link', { name: 'Back to the merchant' }).click();
    await page.waitForURL(`${service.url}/return/wechat/${orderNo}`);
    await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
    t.deepEqual(faults, []);
  },
);

test.serial('a payer who selects Chinese sees Chinese before PayPal and after the return', async (t) => {
  const service = common;
  const browser = await openBrowser(t, { locale: 'en-US' });
  const { orderNo } = await place(service, { payWay: 'paypal' });
  const page = await browser.newPage();
  const faults = watch(page);
  await page.goto(`${service.url}/pay/${orderNo}`);
  await page.getByRole('link', { name: '中文' }).click();
  await page.getByRole('heading', { name: '等待支付' }).waitFor();
  t.is(await page.locator('html').getAttribute('lang'), 'zh-CN');
  await page.getByRole('link', { name: '使用 PayPal 支付' }).click();
  // The simulator's page uses the language of the browser, as PayPal's page would.
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByRole('link', { name: 'Back to the merchant' }).click();
  await page.getByRole('heading', { name: '支付成功' }).waitFor();
  t.regex(page.url(), /\/return\/paypal\//);
  t.notRegex(page.url(), /lang=/, 'the language is not sent to PayPal');
  t.deepEqual(faults, []);
});

/** The animation that hides the link to pay at first, and its duration. */
const WAITS =
  "(({ animationName, animationDelay }) => `${animationName} ${animationDelay}`)(getComputedStyle(document.querySelector('.unpaid')))";
/** Ends that animation. */
const LETS_APPEAR =
  "document.getAnimations().filter((one) => one.animationName === 'appear').forEach((one) => one.finish())";

test.serial(
  'a payer who comes back sees the payment as soon as it arrives, and no other way to pay before',
  async (t) => {
    const service = common;
    const browser = await openBrowser(t);
    const { orderNo } = await place(service, { payWay: 'alipay' });
    const page = await browser.newPage();
    const faults = watch(page);
    let loads = 0;
    page.on('load', () => void (loads += 1));
    await page.goto(`${service.url}/return/alipay/${orderNo}`);
    await page.getByRole('heading', { name: 'Checking your payment' }).waitFor();
    t.is(await page.locator('.button, .qr, form').count(), 0);
    t.is(await page.evaluate(WAITS), 'appear 10s');
    await picture(page, 'checking');
    await service.sim('/sim/pay', { orderNo });
    await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
    t.is(loads, 1);
    t.deepEqual(faults, []);
  },
);

test.serial('a payer who comes back without paying can pay then, with scripts and without', async (t) => {
  const service = common;
  for (const javaScriptEnabled of [true, false]) {
    const browser = await openBrowser(t, { javaScriptEnabled });
    const { orderNo } = await place(service, { payWay: 'alipay' });
    const page = await browser.newPage();
    await page.goto(`${service.url}/return/alipay/${orderNo}`);
    await page.getByRole('heading', { name: 'Checking your payment' }).waitFor();
    t.is(await page.locator('.button, .qr, form').count(), 0);
    if (javaScriptEnabled) {
      await page.evaluate(LETS_APPEAR);
      await page.getByRole('link', { name: 'Pay now' }).waitFor();
      t.deepEqual(await hardToTouch(page), []);
    }
    await page.getByRole('link', { name: 'Pay now' }).click();
    await page.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    t.is(await page.locator('.qr').count(), 1);
  }
});

test.serial('the payment page works without scripts', async (t) => {
  const service = common;
  const browser = await openBrowser(t, { javaScriptEnabled: false });
  const { orderNo, payUrl } = await place(service, { payWay: 'wechat' });
  const page = await browser.newPage();
  await page.goto(payUrl);
  await page.getByText('Scan this code with the WeChat app').waitFor();
  t.regex((await page.locator('#left').textContent()) ?? '', /1 h 59 min/);
  await service.sim('/sim/pay', { orderNo });
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  t.pass();
});

test.serial('the page of an unknown order shows that the payment was not found', async (t) => {
  const service = common;
  const page = await (await openBrowser(t)).newPage();
  await page.goto(`${service.url}/pay/P20300101000000ABCDEFGHJK`);
  await page.getByRole('heading', { name: 'Payment not found' }).waitFor();
  await picture(page, 'unknown');
  t.true(await fits(page));
});
