import test from 'ava';
import type { Page } from 'playwright-core';
import { browserOfFile, fits, picture, watch } from './browser.ts';
import { bootstrapAdmin, startService } from '../support/service.ts';

const ends: (() => unknown)[] = [];
const service = await startService({ teardown: (end) => void ends.push(end) });
const openBrowser = await browserOfFile({ teardown: (end) => void ends.push(end) });
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

/** The link to an operation within a view. */
async function linkTo(view: 'index' | 'console', path: string, method: string): Promise<string> {
  const answer = await fetch(`${service.url}/swagger/doc.json`);
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, Operation>> };
  const { tags, operationId } = paths[path]![method]!;
  return `${service.url}/swagger/${view}.html#/${encodeURIComponent(tags[0]!)}/${operationId}`;
}

interface Operation {
  tags: string[];
  operationId: string;
}

/** The visible operations, without the webhook events below them. */
function operations(page: Page) {
  return page.locator('.opblock-tag-section .opblock');
}

function events(page: Page) {
  return page.locator('.webhooks .opblock-summary-path');
}

async function execute(page: Page, path: string, body?: object): Promise<string> {
  const operation = operations(page).filter({ has: page.locator(`[data-path="${path}"]`) });
  await operation.getByRole('button', { name: 'Try it out' }).click();
  if (body) await operation.locator('textarea').fill(JSON.stringify(body));
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = operation.locator('.live-responses-table .response').first();
  await answer.waitFor();
  return (await answer.textContent()) ?? '';
}

test.serial(
  'a merchant filters the operations, authorizes and calls one, and no other origin is requested',
  async (t) => {
    const shop = await service.merchant();
    const page = await (await openBrowser(t)).newPage();
    const faults = watch(page);
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).origin));

    await page.goto(`${service.url}/swagger/index.html`);
    await page.getByRole('heading', { name: 'Merchant API' }).waitFor();
    await page.locator('.opblock-tag').first().waitFor();
    t.is(await operations(page).count(), 0, 'groups are collapsed');
    t.true((await events(page).count()) > 10, 'events are listed');
    await picture(page, 'explorer-merchant');

    const filter = page.getByRole('searchbox', { name: 'Filter the operations' });
    await filter.fill('refund post');
    await operations(page).first().waitFor();
    const paths = await page.locator('.opblock-summary-path').all();
    const found = await Promise.all(paths.map((one) => one.getAttribute('data-path')));
    t.deepEqual(found.toSorted(), ['/api/v2/payment/refund', '/api/v2/skillpay/refund']);
    await filter.fill('refund.failed');
    await operations(page).first().waitFor({ state: 'detached' });
    await events(page).nth(1).waitFor({ state: 'detached' });
    t.is(await events(page).first().getAttribute('data-path'), 'refund.failed');
    await filter.fill('');
    await events(page).nth(10).waitFor();

    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.getByLabel('client_id').fill(shop.clientId);
    await page.getByLabel('client_secret').fill(shop.secret);
    await picture(page, 'explorer-authorize');
    await page.locator('.modal-btn.authorize').click();
    await page.getByRole('heading', { name: 'Authorized', exact: true }).waitFor();
    await page.locator('.btn-done').click();
    await filter.fill('/api/v2/me');
    await operations(page).first().click();
    t.regex(await execute(page, '/api/v2/me'), new RegExp(`^200[^]*${shop.clientId}`));
    await page.setViewportSize({ width: 320, height: 640 });
    t.true(await fits(page));
    await picture(page, 'explorer-called');

    t.deepEqual(
      [...asked].filter((origin) => origin !== service.url && origin !== 'null'),
      [],
    );
    t.deepEqual(faults, []);
  },
);

test.serial('a link opens one console operation, and the login there authorizes later calls', async (t) => {
  const account = { username: 'alice', password: 'seven-quiet-otters-swim' };
  await bootstrapAdmin(service.app, account);
  const page = await (await openBrowser(t, { colorScheme: 'dark' })).newPage();
  const faults = watch(page);
  await page.goto(`${service.url}/swagger/index.html`);
  await page.getByRole('link', { name: 'Console API' }).click();
  await page.getByRole('heading', { name: 'Console API' }).waitFor();
  await page.goto(await linkTo('console', '/api/v1/login', 'post'));
  await page.reload();
  t.regex(await execute(page, '/api/v1/login', account), /^200/);
  const open = page.locator('.opblock.is-open');
  t.is(await open.count(), 1);

  const [link, path] = [await linkTo('console', '/api/v1/logout', 'post'), '/api/v1/logout'];
  await page.goto(link);
  await page.reload();
  t.regex(await execute(page, path), /^200[^]*"loggedOut": true/);
  await page.setViewportSize({ width: 320, height: 640 });
  t.true(await fits(page));
  await picture(page, 'explorer-console');
  t.deepEqual(faults, []);
});
