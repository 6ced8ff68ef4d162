import test, { type ExecutionContext } from 'ava';
import { eventPath, operationPath } from '../../server/pages/api-pages.ts';
import { GUIDES, LONGEST_SEARCH, SEARCH_PATH, guidePath } from '../../server/pages/guides.ts';
import { LANGUAGES, inLanguage } from '../../server/pages/language.ts';
import { guideRoutes } from '../../server/routes/docs.ts';
import { payerRoutes } from '../../server/routes/payer.ts';
import { fits, openBrowser, picture, watch } from './browser.ts';
import { startEdge } from '../support/edge.ts';

const never = () => Promise.reject(new Error('not asked'));

async function startGuides(t: ExecutionContext): Promise<string> {
  const unused = { order: never, progress: never, addressOf: never, returned: never };
  const groups = [
    guideRoutes({ publicUrl: 'https://pay.example.com', explorer: false }),
    // The payer routes serve the stylesheet of all pages.
    payerRoutes(unused, { others: never, successor: never, choose: never }),
  ];
  return (await startEdge(t, { groups })).url;
}

test('guides work without scripts and on a phone, and show samples in the selected language', async (t) => {
  const url = await startGuides(t);
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
  t.is(await page.getByRole('button', { name: 'Copy this sample' }).count(), 0);

  const field = page.getByRole('searchbox', { name: 'Search the documentation' });
  await field.fill('Verify signature');
  await field.press('Enter');
  await page.getByRole('heading', { name: 'Search' }).waitFor();
  t.is(await field.inputValue(), 'Verify signature');
  await page.getByRole('link', { name: '中文' }).click();
  await page.getByRole('heading', { name: '搜索' }).waitFor();
  await page.getByRole('link', { name: 'English' }).click();
  await page.getByRole('link', { name: 'Receive webhooks › Verify the signature' }).click();
  await page.getByRole('heading', { name: 'Receive webhooks' }).waitFor();
  t.is(new URL(page.url()).hash, '#verify-the-signature');

  await page.setViewportSize({ width: 320, height: 640 });
  const reference = [
    '/docs/api',
    operationPath('placePayment'),
    operationPath('callResource'),
    eventPath('order.paid'),
    `${SEARCH_PATH}?q=channel`,
    `${SEARCH_PATH}?q=${'x'.repeat(LONGEST_SEARCH)}`,
    '/docs/errors/channel_disabled',
  ];
  for (const path of [...GUIDES.map(({ slug }) => guidePath(slug)), ...reference])
    for (const language of LANGUAGES) {
      await page.goto(url + inLanguage(path, language));
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

test('a button copies a sample and says so, also in a browser that gives scripts no clipboard', async (t) => {
  const url = await startGuides(t);
  const browser = await openBrowser(t, { permissions: ['clipboard-read', 'clipboard-write'] });
  const reader = await browser.newPage();
  await reader.goto(`${url}/docs/rate-limits?lang=en`);
  for (const { path, name, said, isPlain } of [
    { path: '/docs/simulator?lang=en', name: 'Copy this sample', said: 'Copied', isPlain: false },
    { path: `${operationPath('placePayment')}?lang=zh`, name: '复制此示例', said: '已复制', isPlain: true },
  ]) {
    const page = await browser.newPage();
    const faults = watch(page);
    if (isPlain) await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
    await page.goto(url + path);
    const samples = page.locator('.sample');
    t.is(await page.getByRole('button', { name }).count(), await samples.count());
    const sample = samples.first();
    const button = sample.getByRole('button', { name });
    t.is(await page.getByRole('status').innerText(), '');
    await button.focus();
    await button.press('Enter');
    await page.getByRole('status').filter({ hasText: said }).waitFor();
    t.is(await page.evaluate('document.activeElement.className'), 'copy');
    const text = (await sample.locator('code').textContent()) ?? '';
    await reader.bringToFront();
    t.is(await reader.evaluate('navigator.clipboard.readText()'), text.trimEnd());
    await page.setViewportSize({ width: 320, height: 640 });
    t.true(await fits(page), path);
    t.deepEqual(faults, []);
  }
});

test('the list of headings stands beside the article where there is room, and above it elsewhere', async (t) => {
  const url = await startGuides(t);
  const page = await (await openBrowser(t, { javaScriptEnabled: false })).newPage();
  for (const path of ['/docs/webhooks', '/docs/api', operationPath('getOwnApp'), eventPath('order.paid')]) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${url}${path}?lang=en`);
    const beside = page.locator('nav.toc');
    const above = page.locator('details.toc-small');
    t.deepEqual([await beside.isVisible(), await above.isVisible()], [true, false], path);
    const [list, text] = [(await beside.boundingBox())!, (await page.locator('.text').boundingBox())!];
    t.true(list.x >= text.x + text.width && list.x + list.width <= 1440, JSON.stringify({ path, list, text }));
    t.true(await fits(page), path);
    await page.setViewportSize({ width: 1024, height: 768 });
    t.deepEqual([await beside.isVisible(), await above.isVisible()], [false, true], path);
    t.true(await fits(page), path);
  }
});
