import test from 'ava';
import type { Page } from 'playwright-core';
import { clientFor, order } from '../unit/simulator/alipay/client.ts';
import { startWorld, type World } from '../unit/simulator/world.ts';
import { fits, hardToTouch, openBrowser, picture, watch } from './browser.ts';

let world: World;
test.before(async () => {
  world = await startWorld();
});
test.after.always(() => world?.close());

/** Whether the ledger needs no scrolling sideways. */
const LEDGER_FITS =
  "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('[data-live=entries] .wide'))";

/** The list item of an open payment or a fault. */
function itemOf(page: Page, subject: string) {
  return page.getByRole('listitem').filter({ hasText: subject });
}

async function place(subject: string): Promise<void> {
  const client = await clientFor(world);
  await client.call('alipay.trade.precreate', { ...order(subject), subject });
}

async function stateOf(orderNo: string): Promise<string | undefined> {
  return (await world.ledger(orderNo)).orders[0]?.state;
}

test.serial('every button of the simulator page works in both languages, and the page updates itself', async (t) => {
  const page = await (await openBrowser(t)).newPage();
  const faults = watch(page);
  await page.goto(`${world.url}/`);
  await page.getByText('No open payments.').waitFor();
  await page.getByText('Nothing has happened yet.').waitFor();

  // The page polls, so the new orders appear without a click.
  await place('FIRST');
  await place('SECOND');
  await itemOf(page, 'FIRST').getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByRole('cell', { name: 'paid', exact: true }).waitFor();
  t.is(await stateOf('FIRST'), 'paid');
  t.is(await itemOf(page, 'FIRST').count(), 0);
  await itemOf(page, 'SECOND').getByRole('button', { name: 'Decline' }).click();
  await itemOf(page, 'SECOND').getByText('declined').waitFor();
  await picture(page, 'simulator');

  await page.getByRole('link', { name: '中文' }).click();
  await page.getByRole('heading', { name: '模拟器' }).waitFor();
  await page.getByLabel('渠道', { exact: true }).selectOption('微信支付');
  await page.getByLabel('调用').selectOption('refund');
  await page.getByRole('combobox', { name: '故障' }).selectOption('commit-then-timeout');
  await page.getByLabel('次数').fill('2');
  await page.getByRole('button', { name: '设置故障' }).click();
  await itemOf(page, 'commit-then-timeout').getByText('已触发 0/2 次').waitFor();
  const { faults: planted } = await world.get<{ faults: object[] }>('/sim/faults');
  t.like(planted, [{ payWay: 'wechat', call: 'refund', fault: 'commit-then-timeout', times: 2 }]);
  await page.getByRole('combobox', { name: '故障' }).selectOption('refused');
  await page.getByRole('button', { name: '设置故障' }).click();
  await page.getByRole('alert').getByText('故障 refused 需要填写渠道错误码。').waitFor();
  await picture(page, 'simulator-zh');
  await itemOf(page, 'commit-then-timeout').getByRole('button', { name: '移除', exact: true }).click();
  await page.getByText('没有设置故障。').waitFor();
  await world.post('/sim/faults', { payWay: 'paypal', fault: '502' });
  await page.getByRole('button', { name: '全部移除' }).click();
  await page.getByText('没有设置故障。').waitFor();
  t.deepEqual(await world.get('/sim/faults'), { faults: [] });

  const before = Date.parse((await world.get<{ now: string }>('/sim/clock')).now);
  for (const step of ['+ 1 分钟', '+ 15 分钟', '+ 1 小时']) await page.getByRole('button', { name: step }).click();
  await page.getByRole('button', { name: '+ 1 天' }).click();
  await page.getByRole('cell', { name: '已过期' }).waitFor();
  const after = Date.parse((await world.get<{ now: string }>('/sim/clock')).now);
  t.true(after - before >= (60 + 900 + 3600 + 86_400) * 1000);
  t.is(await stateOf('SECOND'), 'closed');
  await page.setViewportSize({ width: 320, height: 640 });
  t.true(await fits(page));
  t.deepEqual(await hardToTouch(page), []);
  t.true(await page.evaluate(LEDGER_FITS));
  // The rejected fault above is logged by the browser as status 400.
  t.deepEqual(
    faults.filter((fault) => !/status of 400/.test(fault)),
    [],
  );
});

test.serial('the buttons work without scripts, and the payer’s page keeps its language', async (t) => {
  const page = await (await openBrowser(t, { javaScriptEnabled: false, locale: 'zh-CN' })).newPage();
  await place('PLAIN');
  await page.goto(`${world.url}/?lang=en`);
  await page.getByRole('link', { name: 'PLAIN' }).first().click();
  await page.waitForLoadState();
  await page.setViewportSize({ width: 390, height: 844 });
  t.deepEqual(await hardToTouch(page), []);
  await page.getByRole('button', { name: 'Decline' }).click();
  await page.getByText('Declined. You can try again.').waitFor();
  await picture(page, 'simulator-declined');
  await page.getByRole('link', { name: '中文' }).click();
  await page.getByRole('button', { name: '支付' }).click();
  await page.getByRole('heading', { name: '支付成功。' }).waitFor();
  await picture(page, 'simulator-paid');
  t.is(await stateOf('PLAIN'), 'paid');
});
