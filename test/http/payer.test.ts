import test from 'ava';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { addSkill, offerSkill } from '../support/skillpay.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

/** Places an order and returns its number. */
async function place(shop: Merchant, order: object): Promise<string> {
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: '3.50', ...order });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data.orderNo;
}

async function page(url: string) {
  const answer = await fetch(url, { redirect: 'manual' });
  return { status: answer.status, headers: answer.headers, html: await answer.text() };
}

async function stateOf({ url }: Service, orderNo: string): Promise<string> {
  const answer = await fetch(`${url}/pay/${orderNo}/state`);
  return ((await answer.json()) as { data: { state: string } }).data.state;
}

test.serial('the payment page shows the amount and how to pay, under a policy without inline code', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await place(shop, {
    payWay: 'alipay',
    subject: '<b>"Tea" & cake</b>',
    extra: 'secret',
    userId: 'u-77',
  });

  const { status, headers, html } = await page(`${service.url}/pay/${orderNo}`);
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('referrer-policy'), 'no-referrer');
  const policy = headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
  t.notRegex(policy, /unsafe/);
  t.notRegex(html, /<script>|<style|\sstyle=|\son\w+=/);
  t.regex(html, /¥3\.50 <small>CNY<\/small>/);
  t.regex(html, /&#60;b&#62;&#34;Tea&#34; &#38; cake/);
  t.regex(html, /<img class="qr" alt="QR code to pay with Alipay" src="data:image\/png;base64,/);
  t.regex(html, /<noscript><meta http-equiv="refresh" content="5">/);
  t.notRegex(html, /secret|u-77|app_/);
  for (const [, path] of html.matchAll(/(?:src|href)="(\/pay\/assets[^"]+)"/g)) {
    const asset = await page(service.url + path);
    t.is(asset.status, 200);
    t.regex(asset.headers.get('cache-control') ?? '', /immutable/);
  }
});

test.serial('the polled state has exactly two members', async (t) => {
  const service = await startService(t);
  const orderNo = await place(await service.merchant(), { payWay: 'wechat', expireSeconds: 600 });
  const answer = await fetch(`${service.url}/pay/${orderNo}/state`);
  const { data } = (await answer.json()) as { data: { state: string; secondsLeft: number } };
  t.is(data.state, 'waiting');
  t.true(data.secondsLeft > 500 && data.secondsLeft <= 600);
  t.deepEqual(Object.keys(data).toSorted(), ['secondsLeft', 'state']);
  t.is(answer.headers.get('cache-control'), 'no-store');
  t.is((await fetch(`${service.url}/pay/P20300101000000ABCDEFGHJK/state`)).status, 404);
});

test.serial('unknown and invalid numbers get the same friendly page', async (t) => {
  const service = await startService(t);
  const orderNo = await place(await service.merchant(), { payWay: 'alipay' });
  const paths = [
    '/pay/P20300101000000ABCDEFGHJK',
    `/pay/${'x'.repeat(200)}`,
    '/pay/%3Cscript%3E',
    '/return/alipay/P20300101000000ABCDEFGHJK',
    '/return/cash/P20300101000000ABCDEFGHJK',
    `/return/paypal/${orderNo}`,
  ];
  for (const path of paths) {
    const { status, headers, html } = await page(service.url + path);
    t.is(status, 404, path);
    t.regex(headers.get('content-type') ?? '', /^text\/html/);
    t.regex(html, /Payment not found/);
    t.notRegex(html, /script>alert|<script>/);
    t.notRegex(html.replace(/<nav[^]*<\/nav>/, ''), /P2030/);
  }
});

test.serial('the page is in the language of the browser or in the requested one, and declares it', async (t) => {
  const { service } = file;
  const orderNo = await place(await file.shop(), { payWay: 'wechat' });
  const asked = async (path: string, headers: Record<string, string>) => {
    const answer = await fetch(`${service.url}${path}`, { headers, redirect: 'manual' });
    const html = await answer.text();
    return { html, title: /<h1>(.*?)<\/h1>/.exec(html)?.[1], headers: answer.headers };
  };
  const chinese = { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.5' };
  const own = await asked(`/pay/${orderNo}`, chinese);
  t.is(own.title, '等待支付');
  t.is(own.headers.get('content-language'), 'zh-CN');
  t.is(own.headers.get('vary'), 'Accept-Language, Cookie');
  t.is(own.headers.get('set-cookie'), null, 'the language of the browser is not stored');
  t.regex(own.html, /<html lang="zh-CN">/);
  const switched = await asked(`/pay/${orderNo}?lang=en`, chinese);
  t.is(switched.title, 'Waiting for your payment');
  t.is(switched.headers.get('content-language'), 'en');

  const kept = switched.headers.get('set-cookie') ?? '';
  t.regex(kept, /^pay_lang=en; path=\/; expires=[^;]+; samesite=lax; httponly$/i);
  const back = { ...chinese, cookie: kept.split(';')[0] ?? '' };
  t.regex((await asked(`/return/wechat/${orderNo}`, back)).title ?? '', /^Checking your payment$/);
  const undone = await asked(`/return/wechat/${orderNo}?lang=zh`, back);
  t.is(undone.title, '支付结果确认中');
  t.regex(undone.headers.get('set-cookie') ?? '', /^pay_lang=; /);
  t.is((await asked('/pay/P20300101000000ABCDEFGHJK', chinese)).title, '未找到该订单');
});

test.serial('a redirect of the page stays in its language', async (t) => {
  const { service } = file;
  await addSkill(service, { code: 'threefold', payWays: ['wechat', 'alipay'] });
  const orderNo = await offerSkill(await file.shop(), { resource: 'threefold' });
  const chosen = await fetch(`${service.url}/pay/${orderNo}/choose/alipay?lang=zh`, {
    method: 'POST',
    redirect: 'manual',
  });
  t.regex(chosen.headers.get('location') ?? '', /^\/pay\/\w+\?lang=zh$/);
  const followed = await page(`${service.url}/pay/${orderNo}?lang=zh`);
  t.is(followed.headers.get('location'), chosen.headers.get('location'), 'the former number leads on, too');
  const opened = await page(`${service.url}/pay/${orderNo}/open?lang=zh`);
  t.is(opened.headers.get('location'), `/pay/${orderNo}?lang=zh`);
});

test.serial('the page shows the name of the project as merchant, once it has its own name', async (t) => {
  const { service, admin } = file;
  const unnamed = await place(await file.shop(), { payWay: 'alipay' });
  t.notRegex((await page(`${service.url}/pay/${unnamed}`)).html, /class="merchant"/);
  await admin('PUT', '/api/v1/projects/default', { name: 'Blue <Door>' });
  t.regex((await page(`${service.url}/pay/${unnamed}`)).html, /aria-hidden="true">B<\/span><bdi>Blue &#60;Door&#62;</);
  await admin('PUT', '/api/v1/projects/default', { name: 'Default' });
});

test.serial('a fault is shown to a browser as a page, and to a program as a problem document', async (t) => {
  const { service } = file;
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'accept-language': 'zh-CN' };
  const put = (headers: Record<string, string>) => fetch(`${service.url}/pay/P1`, { method: 'PUT', headers });
  const seen = await put(html);
  t.is(seen.status, 405);
  t.is(seen.headers.get('allow'), 'GET, HEAD');
  t.is(seen.headers.get('content-language'), 'zh-CN');
  const text = await seen.text();
  t.regex(text, /<h1>不支持的请求方法<\/h1>[^]*method_not_allowed/);
  t.notRegex(text, /class="languages"/, 'a switch would repeat the request');
  t.is(((await (await put({ accept: '*/*' })).json()) as { code: string }).code, 'method_not_allowed');
  t.is(((await (await put({})).json()) as { code: string }).code, 'method_not_allowed');
});

test.serial('a return from the channel changes no order, whatever the address claims', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    const orderNo = await place(shop, { payWay, returnUrl: 'https://shop.example/done' });
    const lies = 'status=paid&trade_status=TRADE_SUCCESS&token=made-up&PayerID=x&total_amount=3.50';
    const { status, html } = await page(`${service.url}/return/${payWay}/${orderNo}?${lies}`);
    t.is(status, 200);
    t.regex(html, /has not confirmed the payment yet/);
    t.notRegex(html, /class="(button go|qr|pay)"/, 'no prominent way to pay again');
    t.regex(html, new RegExp(`class="unpaid">[^<]*<a href="/pay/${orderNo}\\?lang=en">Pay now<`));
    t.is(await stateOf(service, orderNo), 'waiting');
    const turned = await page(`${service.url}/return/${payWay}/${orderNo}?cancelled=1`);
    t.regex(turned.html, /Not paid[^]*class="button go"[^>]*>Pay now/);
  }
});

test.serial('a return from PayPal captures the approved money once and links to the shop', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await place(shop, { payWay: 'paypal', returnUrl: 'https://shop.example/done?cart=7&status=x#end' });
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await service.sim('/sim/approve', { orderNo });
  const { returnUrl } = await service.sim(`/sim/trades/${orderNo}`);
  t.regex(String(returnUrl), /\/return\/paypal\/.*token=/);
  const pages = await Promise.all([1, 2, 3, 4].map(() => page(String(returnUrl))));
  t.deepEqual(
    pages.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const { html } = await page(String(returnUrl));
  t.regex(html, /<h1>Paid<\/h1>/);
  t.true(html.includes(`https://shop.example/done?cart=7&#38;status=paid&#38;orderNo=${orderNo}#end`), html);
  const { orders } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { orders: object[] };
  t.like(orders[0], { paid: 350 });
  const timeline = await service.app.payments.timeline({ owner: 'any', actor: 'admin:1' }, orderNo);
  t.is(timeline.filter((entry) => JSON.stringify(entry).includes('"rule":"paid"')).length, 1);
});

test.serial('a return from a channel without notifications finds the payment', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  for (const payWay of ['alipay', 'wechat']) {
    const orderNo = await place(shop, { payWay });
    await service.sim('/sim/notices', { payWay, enabled: false });
    await service.sim('/sim/pay', { orderNo });
    service.clock.advance(6);
    const { html } = await page(`${service.url}/return/${payWay}/${orderNo}`);
    t.regex(html, /<h1>Paid<\/h1>/, payWay);
  }
});

test.serial('a channel that disconnects leaves the page as it was', async (t) => {
  const service = await startService(t);
  const orderNo = await place(await service.merchant(), { payWay: 'alipay' });
  await service.sim('/sim/faults', {
    payWay: 'alipay',
    call: 'query',
    fault: 'timeout',
    probability: 1,
    hangUpMs: 100,
  });
  service.clock.advance(6);
  const { status, html } = await page(`${service.url}/return/alipay/${orderNo}`);
  t.is(status, 200);
  t.regex(html, /has not confirmed the payment yet/);
});

test.serial('without an address of the shop there is no link to the shop', async (t) => {
  const service = await startService(t);
  const orderNo = await place(await service.merchant(), { payWay: 'alipay' });
  const { html } = await page(`${service.url}/pay/${orderNo}`);
  t.notRegex(html, /Back to the shop/);
});

test.serial('each end state of an order has its own page', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const title = async (orderNo: string) =>
    /<h1>(.*?)<\/h1>/.exec((await page(`${service.url}/pay/${orderNo}`)).html)?.[1];

  const paid = async () => {
    const orderNo = await place(shop, { payWay: 'wechat' });
    await service.sim('/sim/pay', { orderNo });
    await until('paid', async () => (await stateOf(service, orderNo)) === 'paid');
    return orderNo;
  };
  const refund = (orderNo: string, refundAmount: number) =>
    shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
  const partly = await paid();
  t.is(await title(partly), 'Paid');
  await refund(partly, 1);
  await until('part', async () => (await stateOf(service, partly)) === 'partially_refunded');
  t.regex((await page(`${service.url}/pay/${partly}`)).html, /Partially refunded[^]*¥1\.00/);
  const wholly = await paid();
  await refund(wholly, 3.5);
  await until('all', async () => (await stateOf(service, wholly)) === 'refunded');
  t.is(await title(wholly), 'Refunded');

  const closed = await place(shop, { payWay: 'wechat' });
  await shop.call('POST', `/api/v2/payment/close/${closed}`);
  t.is(await title(closed), 'Order closed');

  const late = await place(shop, { payWay: 'wechat', expireSeconds: 120 });
  service.clock.advance(125);
  t.is(await title(late), 'This order is closing');
  const body = (await page(`${service.url}/pay/${late}`)).html;
  t.notRegex(body, /class="qr"/);
});

test.serial('a payer by WeChat’s H5 is sent from our origin, to an address that has not expired', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const request = {
    payWay: 'wechat',
    scene: 'h5',
    clientIp: '192.0.2.7',
    merchantOrderNo: 'cart-9',
    subject: 'Tea',
    amount: '3.50',
  };
  const placed = (await shop.call('POST', '/api/v2/payment/pay', request)).body.data;
  const { orderNo } = placed;
  t.true(Date.parse(placed.expiresAt) - Date.parse(placed.createdAt) > 7_000_000, 'the order has the usual lifetime');
  t.is(Date.parse(placed.payment.expiresAt) - Date.parse(placed.createdAt) <= 300_000, true);
  t.is(placed.payUrl, placed.payment.url);

  const shown = await page(`${service.url}/pay/${orderNo}`);
  t.is(shown.headers.get('referrer-policy'), 'origin');
  t.true(
    shown.html.includes(`<a class="button go" href="/pay/${orderNo}/open?lang=en">Pay with WeChat Pay</a>`),
    shown.html,
  );
  const opened = async () => {
    const answer = await page(`${service.url}/pay/${orderNo}/open`);
    t.is(answer.status, 303);
    t.is(answer.headers.get('referrer-policy'), 'origin');
    return answer.headers.get('location') ?? '';
  };
  const follow = (url: string, headers: Record<string, string> = { referer: `${service.url}/` }) =>
    fetch(url, { headers, redirect: 'manual' });
  t.is(await opened(), placed.payment.url);
  t.is((await follow(placed.payment.url)).status, 302);
  t.is((await follow(placed.payment.url, {})).status, 403, 'WeChat Pay refuses a request without a referrer');

  const minutesPass = async (minutes: number) => {
    service.clock.advance(minutes * 60);
    await service.sim('/sim/clock', { advanceSeconds: minutes * 60 });
  };
  const seen = new Set<string>([placed.payment.url]);
  for (const ask of [
    opened,
    async () => (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.payment.url,
    async () => (await shop.call('POST', '/api/v2/payment/pay', request)).body.data.payment.url,
  ]) {
    await minutesPass(6);
    for (const old of seen) t.is((await follow(old)).status, 403, 'the address has died');
    const fresh: string = await ask();
    t.false(seen.has(fresh));
    t.is((await follow(fresh)).status, 302);
    t.is(await ask(), fresh, 'an unexpired address is kept');
    seen.add(fresh);
  }
  await minutesPass(6);
  const { body } = await shop.call('GET', `/api/v2/payment/orders?merchantOrderNo=cart-9`);
  t.is(body.data?.length ?? 1, 1);
  const { orders } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { orders: object[] };
  t.like(orders[0], { created: 1 });
});

test.serial('an offer of two channels has a button for the other channel, and a link may select it', async (t) => {
  const { service } = file;
  await addSkill(service, { code: 'twofold', payWays: ['wechat', 'alipay'] });
  const orderNo = await offerSkill(await file.shop(), { resource: 'twofold' });
  const form = `<form method="post" action="/pay/${orderNo}/choose/alipay?lang=en">`;
  const plain = await page(`${service.url}/pay/${orderNo}`);
  t.true(
    plain.html.includes('class="qr"') && plain.html.includes(form) && plain.html.includes('Pay with Alipay instead'),
  );
  t.regex(plain.headers.get('content-security-policy') ?? '', /form-action 'self'/);
  const asked = await page(`${service.url}/pay/${orderNo}?payWay=alipay`);
  t.true(asked.html.includes(form) && !asked.html.includes('class="qr"'));
  const posted = await fetch(`${service.url}/pay/${orderNo}/choose/alipay`, { method: 'POST', redirect: 'manual' });
  t.is(posted.status, 303);
  const next = await page(`${service.url}${posted.headers.get('location')}`);
  t.true(next.html.includes('class="channel alipay"') && !next.html.includes('<form'));
});

test.serial('an order without an open payment redirects to the page', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await place(shop, { payWay: 'wechat', scene: 'h5', clientIp: '192.0.2.7' });
  await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  for (const number of [orderNo, 'P20300101000000ABCDEFGHJK']) {
    const { status, headers } = await page(`${service.url}/pay/${number}/open`);
    t.is(status, 303);
    t.is(headers.get('location'), `/pay/${number}?lang=en`);
  }
  t.is((await page(`${service.url}/pay/%3Cscript%3E/open`)).status, 404);
});

test.serial('a channel that is silent when the address has expired redirects to the page', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await place(shop, { payWay: 'wechat', scene: 'h5', clientIp: '192.0.2.7' });
  service.clock.advance(300);
  await service.sim('/sim/faults', {
    payWay: 'wechat',
    call: 'create',
    fault: 'timeout',
    orderNo,
    probability: 1,
    hangUpMs: 100,
  });
  t.is((await page(`${service.url}/pay/${orderNo}/open`)).headers.get('location'), `/pay/${orderNo}?lang=en`);
  t.is(await stateOf(service, orderNo), 'waiting');
  const { body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  t.is(body.data.payment, undefined);
  t.is(body.data.payUrl, `${service.url}/pay/${orderNo}`);
});
