import test from 'ava';
import { publicRoutes } from '../../server/routes/public.ts';
import { openBrowser } from '../support/browser.ts';
import { startEdge } from '../support/edge.ts';

const SERVED = /^\/(health(\/db)?|api\/v1\/info|swagger\/[\w.]+)$/;

test('the explorer shows the operations, tries one, and asks nobody else', async (t) => {
  t.timeout(60_000);
  const groups = [publicRoutes({ info: () => Promise.reject(new Error('unused')), pingDatabase: async () => {} })];
  const { url } = await startEdge(t, { groups, explorer: true });
  const page = await (await openBrowser(t)).newPage();
  const asked = new Set<string>();
  const faults: string[] = [];
  page.on('request', (request) => asked.add(new URL(request.url()).origin));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));

  // The document has every operation of the service; here only these are served.
  await page.route('**/swagger/doc.json', async (route) => {
    const response = await route.fetch();
    const document = (await response.json()) as { paths: Record<string, unknown> };
    const paths = Object.entries(document.paths).filter(([path]) => SERVED.test(path));
    await route.fulfill({ response, json: { ...document, paths: Object.fromEntries(paths) } });
  });
  await page.goto(`${url}/swagger/index.html`);
  const health = page.locator('#operations-Service-getHealth');
  await health.locator('.opblock-summary-control').click();
  t.is(await page.locator('.opblock').count(), 5);
  await health.getByRole('button', { name: 'Try it out' }).click();
  await health.getByRole('button', { name: 'Execute' }).click();
  const answer = health.locator('.live-responses-table .response').first();
  await answer.waitFor();
  t.regex((await answer.textContent()) ?? '', /200[^]*"status": "ok"/);
  if (process.env['EXPLORER_SCREENSHOT'])
    await page.screenshot({ path: process.env['EXPLORER_SCREENSHOT'], fullPage: true });

  t.deepEqual(
    [...asked].filter((origin) => origin !== url && origin !== 'null'),
    [],
  );
  t.deepEqual(faults, []);
});
