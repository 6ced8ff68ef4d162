import test from 'ava';
import { clientFor, type Client } from './alipay/client.ts';
import { startWorld, type World } from './world.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

async function newPage(orderNo: string, subject = 'coffee'): Promise<string> {
  const content = { out_trade_no: orderNo, total_amount: '12.30', subject };
  return (await client.call('alipay.trade.precreate', content)).content['qr_code']!;
}

function choose(page: string, choice: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(page, { method: 'POST', body: new URLSearchParams({ choice }), headers });
}

test('the page shows the order and runs no script', async (t) => {
  const answer = await fetch(await newPage('SHOW'));
  t.regex(
    answer.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; style-src 'self'; form-action 'self'/,
  );
  const html = await answer.text();
  for (const word of ['coffee', '12.30', 'CNY', 'SHOW', 'value="pay"', 'value="decline"']) t.true(html.includes(word));
  t.false(/<script|<style|style=|onclick/.test(html));
});

test('a subject is escaped', async (t) => {
  const html = await (await fetch(await newPage('MARKUP', '<img src=x onerror=1>'.replaceAll('=', '')))).text();
  t.false(html.includes('<img'));
  t.true(html.includes('&#60;img'));
});

test('Pay pays once and the page shows it', async (t) => {
  const page = await newPage('PAID');
  t.regex(await (await choose(page, 'pay')).text(), /Paid\./);
  t.regex(await (await choose(page, 'pay')).text(), /Paid\./);
  t.like((await world.ledger('PAID')).orders[0], { payments: 1, paid: 1230 });
});

test('Decline leaves the order open for another attempt', async (t) => {
  const page = await newPage('TRY');
  t.regex(await (await choose(page, 'decline')).text(), /Declined\./);
  t.like((await world.ledger('TRY')).orders[0], { payments: 0, state: 'open' });
  t.regex(await (await choose(page, 'pay')).text(), /Paid\./);
});

test('a foreign site cannot pay, and an unknown address is not found', async (t) => {
  const page = await newPage('CROSS');
  t.is((await choose(page, 'pay', { 'sec-fetch-site': 'cross-site' })).status, 403);
  t.like((await world.ledger('CROSS')).orders[0], { payments: 0 });
  t.is((await fetch(`${world.url}/pay/alipay/nothing`)).status, 404);
  t.is((await fetch(page.replace('/alipay/', '/wechat/'))).status, 404);
});
