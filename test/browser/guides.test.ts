import test from 'ava';
import { eventPath, operationPath } from '../../server/pages/api-pages.ts';
import { GUIDES, guidePath } from '../../server/pages/guides.ts';
import { guideRoutes } from '../../server/routes/docs.ts';
import { payerRoutes } from '../../server/routes/payer.ts';
import { fits, openBrowser, picture, watch } from './browser.ts';
import { startEdge } from '../support/edge.ts';

const never = () => Promise.reject(new Error('not asked'));

test('guides work without scripts and on a phone, and show samples in the selected language', async (t) => {
  const unused = { order: never, progress: never, addressOf: never, returned: never };
  const groups = [
    guideRoutes({ publicUrl: 'https://pay.example.com', explorer: false }),
    // The payer routes serve the stylesheet of all pages.
    payerRoutes(unused, { others: never, successor: never, choose: never }),
  ];
  const { url } = await startEdge(t, { groups });
  const page = await (await openBrowser(t, { javaScriptEnabled: false, locale: 'zh-CN' })).newPage();
  const faults = watch(page);
  const foreign: string[] = [];
  page.on('request', (request) => !/^(http:\/\/127\.0\.0\.1|data:)/.test(request.url()) && foreign.push(request.url()));

  await page.goto(`${url}/docs`);
  await page.getByRole('heading', { name: '统一支付服务' }).waitFor();
  await page.getByRole('link', { name: 'English' }).click();
  await page.getByRole('navigation', { name: 'All guides' }).getByRole('link', { name: 'Receive webhooks' }).click();
  await page.getByRole('heading', { name: 'Receive webhooks' }).waitFor();
  const shown = (text: string) => page.locator('pre', { hasText: text }).isVisible();
  t.deepEqual([await shown('verifyWebhook('), await shown('verify_webhook(')], [true, false]);
  await page.getByRole('radio', { name: 'Python' }).check();
  t.deepEqual([await shown('verifyWebhook('), await shown('verify_webhook(')], [false, true]);
  await page.locator('.tabs label', { hasText: 'Go' }).click();
  t.deepEqual([await shown('verify_webhook('), await shown('func isGenuine')], [false, true]);
  await picture(page, 'guide-webhooks');

  await page.setViewportSize({ width: 320, height: 640 });
  const reference = [
    '/docs/api',
    operationPath('placePayment'),
    operationPath('callResource'),
    eventPath('order.paid'),
  ];
  for (const path of [...GUIDES.map(({ slug }) => guidePath(slug)), ...reference])
    for (const language of ['en', 'zh']) {
      await page.goto(`${url}${path}?lang=${language}`);
      t.true(await fits(page), `${language} ${path}`);
    }
  await picture(page, 'reference-event');
  await page.goto(`${url}/docs/errors/channel_outcome_unknown?lang=zh`);
  await page.getByRole('heading', { name: '结果未知' }).waitFor();
  t.true(await fits(page));
  await picture(page, 'guide-error');
  t.deepEqual(foreign, []);
  t.deepEqual(faults, []);
});
