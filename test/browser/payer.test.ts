import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { startService, type Service } from '../support/service.ts';

const executablePath = process.env['PAY_TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

async function openBrowser(t: ExecutionContext, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'payer-'));
  const browser = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, ...options });
  t.teardown(async () => {
    await browser.close();
    await rm(profile, { recursive: true, force: true });
  });
  return browser;
}

/** Faults of the page: errors, and what its policy refused. */
function watch(page: Page): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    // The shop of these tests is a JSON document, for which the browser looks for an icon by itself.
    const isIcon = message.location().url.endsWith('/favicon.ico');
    if (message.type() === 'error' && !isIcon) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  return faults;
}

async function place(service: Service, order: object): Promise<{ orderNo: string; payUrl: string }> {
  const shop = await service.merchant();
  const { body } = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Two coffees', amount: 12.5, ...order });
  return body.data;
}

/** Writes a picture when somebody wants to look at it. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PAY_TEST_PICTURES'];
  if (!folder) return;
  for (const [size, viewport] of Object.entries({
    wide: { width: 1280, height: 800 },
    narrow: { width: 360, height: 740 },
  })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
    }
  }
}

/** Whether everything fits into the width of the window. */
async function fits(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= innerWidth');
}

test('a payer pays through the page, and it says so without being reloaded', async (t) => {
  t.timeout(60_000);
  const service = await startService(t);
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

test('a payer goes to PayPal, comes back, and is led on to the shop', async (t) => {
  t.timeout(60_000);
  const service = await startService(t);
  const browser = await openBrowser(t);
  const shop = `${service.url}/health`;
  const { orderNo } = await place(service, { payWay: 'paypal', returnUrl: shop });
  const page = await browser.newPage();
  const faults = watch(page);
  await page.goto(`${service.url}/pay/${orderNo}`);
  await picture(page, 'paypal');
  await page.getByRole('link', { name: 'Pay with PayPal' }).click();
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByRole('link', { name: 'Back to the merchant' }).click();
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  await picture(page, 'returned');
  await page.waitForURL(`${shop}?orderNo=${orderNo}&status=paid`);
  t.deepEqual(faults, []);
});

test('a payer goes to WeChat Pay with the origin of the page, also after its address has died', async (t) => {
  t.timeout(60_000);
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
});

test('without scripts the page works too', async (t) => {
  t.timeout(60_000);
  const service = await startService(t);
  const browser = await openBrowser(t, { javaScriptEnabled: false });
  const { orderNo, payUrl } = await place(service, { payWay: 'wechat' });
  const page = await browser.newPage();
  await page.goto(payUrl);
  await page.getByText('Scan this code with the WeChat Pay app').waitFor();
  t.regex((await page.locator('#left').textContent()) ?? '', /1 h 59 min/);
  await service.sim('/sim/pay', { orderNo });
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  t.pass();
});

test('an address that leads nowhere says so kindly', async (t) => {
  t.timeout(60_000);
  const service = await startService(t);
  const page = await (await openBrowser(t)).newPage();
  await page.goto(`${service.url}/pay/P20300101000000ABCDEFGHJK`);
  await page.getByRole('heading', { name: 'Payment not found' }).waitFor();
  await picture(page, 'unknown');
  t.true(await fits(page));
});
