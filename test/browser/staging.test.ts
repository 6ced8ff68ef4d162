import test from 'ava';
import { fits, openBrowser, picture, watch } from './browser.ts';
import { startService, stagingOptions } from '../support/service.ts';

test('the staging pages show a ribbon that covers no content on a phone or a desktop', async (t) => {
  const service = await startService(t, await stagingOptions(t));
  await service.app.prepare();
  const shop = await service.merchant();
  const order = { subject: 'Two coffees', amount: 12.5, payWay: 'alipay' };
  const { payUrl } = (await shop.call('POST', '/api/v2/payment/pay', order)).body.data;
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  const faults = watch(page);
  const pages = {
    payer: payUrl,
    error: `${service.url}/docs/errors/not_found`,
    explorer: `${service.url}/swagger/index.html`,
  };
  for (const [name, address] of Object.entries(pages)) {
    await page.goto(address);
    const ribbon = page.locator('#pay-environment');
    await ribbon.waitFor();
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 360, height: 740 },
    ]) {
      await page.setViewportSize(viewport);
      t.true(await fits(page), name);
      const bar = (await ribbon.boundingBox())!;
      const first = (await page.locator('main, h1, #swagger-ui').first().boundingBox())!;
      t.true(bar.width === viewport.width && first.y >= bar.height, `${name}: ${JSON.stringify({ bar, first })}`);
    }
    await picture(page, `staging-${name}`);
  }
  t.deepEqual(faults, []);
});
