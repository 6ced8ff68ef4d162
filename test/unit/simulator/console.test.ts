import { request } from 'node:http';
import test from 'ava';
import { clientFor, order } from './alipay/client.ts';
import { startWorld, type World } from './world.ts';

let world: World;
test.before(async () => {
  world = await startWorld();
});
test.after.always(() => world?.close());

const page = async (headers: Record<string, string> = {}) => (await fetch(world.url, { headers })).text();

function send(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(world.url + path, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' });
}

test.serial("the page is in the browser's language, runs only its own script and must not be cached", async (t) => {
  const answer = await fetch(world.url, { headers: { 'accept-language': 'zh-CN' } });
  t.is(answer.headers.get('content-language'), 'zh-CN');
  t.regex(
    answer.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self'; style-src 'self'/,
  );
  t.is(answer.headers.get('cache-control'), 'no-store');
  const html = await answer.text();
  t.regex(html, /<html lang="zh-CN">[^]*<h1>模拟器<\/h1>/);
  t.notRegex(html, /<script>|<style|\sstyle=|\son\w+=/);
  for (const [, path] of html.matchAll(/(?:src|href)="(\/(?:pay|console)\/[^"]+\.(?:css|js)\?v=\w+)"/g))
    t.is((await fetch(world.url + path)).status, 200, path);
});

test.serial('an action returns to the page in its language, and merchant text is escaped', async (t) => {
  const client = await clientFor(world);
  await client.call('alipay.trade.precreate', { ...order('LIST'), subject: '<b>tea' });
  const html = await page();
  t.true(html.includes('&#60;b&#62;tea') && !html.includes('<b>tea'));
  const trade = /name="trade" value="(\w+)"/.exec(html)?.[1] ?? '';
  const paid = await send('/console/trade?lang=zh', { trade, choice: 'pay' });
  t.deepEqual([paid.status, paid.headers.get('location')], [303, '/?lang=zh']);
  t.is((await send('/console/trade', { trade, choice: 'pay' })).status, 303, 'paying twice is paying once');
  const late = await send('/console/trade', { trade, choice: 'decline' });
  t.is(late.status, 409);
  t.regex(await late.text(), /role="alert"><b>Not done\.<\/b> Order LIST is already paid\./);
});

test.serial('a request that no button sends is refused with a message', async (t) => {
  for (const [path, form] of [
    ['/console/trade', { trade: 'nothing', choice: 'pay' }],
    ['/console/trade', { choice: 'pay' }],
    ['/console/faults', { payWay: 'alipay', call: '*', fault: 'meteor', times: '1', word: '' }],
    ['/console/faults', { payWay: 'alipay', call: '*', fault: 'timeout', times: '0', word: '' }],
    ['/console/clock', { step: 'year' }],
  ] as [string, Record<string, string>][]) {
    const answer = await send(path, form);
    t.true(answer.status === 400 || answer.status === 404, path);
    t.regex(await answer.text(), /role="alert"/);
  }
  t.deepEqual(await world.get('/sim/faults'), { faults: [] });
});

test.serial('a foreign site or Host can neither read the page nor press a button', async (t) => {
  const statusWith = (method: string, path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      request(world.url + path, { method, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
  t.is(await statusWith('GET', '/', { host: 'attacker.example' }), 403);
  t.is(await statusWith('POST', '/console/faults/remove', { host: 'attacker.example' }), 403);
  const strangers: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://attacker.example' },
    { origin: 'null' },
  ];
  for (const headers of strangers)
    t.is((await send('/console/faults/remove', { id: '' }, headers)).status, 403, JSON.stringify(headers));
  t.is((await send('/console/faults/remove', { id: '' }, { origin: world.url })).status, 303);
});
