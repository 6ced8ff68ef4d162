import { createHash } from 'node:crypto';
import test from 'ava';
import { askAlipay, bearerOf, openDesk, reportPath, targetOf, unzip, type Desk } from './desk.ts';

let desk: Desk;
test.before(async () => {
  desk = await openDesk();
  for (const payWay of WAYS) await desk.make(payWay, `${payWay}1`);
});
test.after.always(() => desk?.close());
test.afterEach.always(async () => {
  await fetch(`${desk.world.url}/sim/bills`, { method: 'DELETE', headers: { 'content-type': 'application/json' } });
});

const WAYS = ['alipay', 'wechat', 'paypal'] as const;

function dayBefore(): string {
  return new Date(Date.parse(desk.day) - 86_400_000).toISOString().slice(0, 10);
}

async function alipayZip(): Promise<ArrayBuffer> {
  const { content } = await askAlipay(desk.alipay, desk.day);
  return (await fetch(content['bill_download_url']!)).arrayBuffer();
}

async function wechatFile() {
  const told = await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`);
  const { hash_value: hash } = JSON.parse(told.body) as { hash_value: string };
  const file = await desk.wechat(targetOf(told.body, desk.world));
  return { hash, ...file, sha1: createHash('sha1').update(file.body).digest('hex') };
}

async function paypalText(): Promise<string> {
  const headers = { authorization: await bearerOf(desk.world) };
  return (await fetch(`${desk.world.url}/paypal${reportPath(desk.day)}`, { headers })).text();
}

test.serial('late: the channels report a missing bill until the condition ends', async (t) => {
  for (const payWay of WAYS) await desk.condition('late', payWay, { date: desk.day });
  t.is((await askAlipay(desk.alipay, desk.day)).content['sub_code'], 'isp.bill_not_exist');
  t.like(await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`), { status: 400, code: 'STATEMENT_CREATING' });
  const late = await desk.paypal('GET', reportPath(desk.day));
  t.like(late, { status: 400, body: { name: 'INVALID_REQUEST' } });
  for (const payWay of WAYS) {
    await desk.condition('late', payWay, { date: desk.day, on: false });
    t.is((await desk.rows(payWay)).length, 1, payWay);
  }
});

test.serial('late at PayPal: a longer window ends at the data end', async (t) => {
  await desk.condition('late', 'paypal', { date: desk.day });
  const before = dayBefore();
  const path = reportPath(desk.day).replace(`start_date=${desk.day}`, `start_date=${before}`);
  const { status, body } = await desk.paypal('GET', path);
  t.is(status, 200);
  t.like(body, {
    total_items: 0,
    end_date: `${before}T23:59:59+0000`,
    last_refreshed_datetime: `${before}T23:59:59+0000`,
  });
});

test.serial('a condition applies only to its own day', async (t) => {
  for (const payWay of WAYS) {
    await desk.condition('empty', payWay, { date: dayBefore() });
    t.is((await desk.rows(payWay)).length, 1, payWay);
  }
});

test.serial('empty: each channel reports no transactions in its own way', async (t) => {
  for (const payWay of WAYS) await desk.condition('empty', payWay);
  t.is((await askAlipay(desk.alipay, desk.day)).content['sub_code'], 'isp.bill_not_exist');
  t.is((await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`)).code, 'NO_STATEMENT_EXIST');
  t.like((await desk.paypal('GET', reportPath(desk.day))).body, { transaction_details: [], total_items: 0 });
});

test.serial('an empty day leaves the other days of a longer bill unchanged', async (t) => {
  const path = reportPath(desk.day).replace(`start_date=${desk.day}`, `start_date=${dayBefore()}`);
  await desk.condition('empty', 'paypal', { date: dayBefore() });
  await desk.condition('filler', 'paypal', { date: dayBefore(), rows: 5 });
  t.is((await desk.paypal('GET', path)).body['total_items'], 1);
  await desk.condition('empty', 'paypal', { date: dayBefore(), on: false });
  await desk.condition('empty', 'paypal', { date: desk.day });
  t.is((await desk.paypal('GET', path)).body['total_items'], 5);
});

test.serial('cut: the file is truncated without an HTTP error', async (t) => {
  for (const payWay of WAYS) await desk.condition('cut', payWay);
  const half = await alipayZip();
  t.throws(() => unzip(half), { message: 'not a zip' });
  const { hash, sha1, body } = await wechatFile();
  t.not(hash, sha1);
  t.notRegex(body, /总交易单数/);
  const text = await paypalText();
  t.throws(() => JSON.parse(text));
});

test.serial('wrong-hash: the file is complete but its hash differs', async (t) => {
  await desk.condition('wrong-hash', 'wechat');
  const { hash, sha1, body } = await wechatFile();
  t.not(hash, sha1);
  t.regex(body, /总交易单数/);
});

test.serial('expired-url: the URL expires before its use', async (t) => {
  for (const payWay of ['alipay', 'wechat'] as const) await desk.condition('expired-url', payWay);
  const { content } = await askAlipay(desk.alipay, desk.day);
  t.is((await fetch(content['bill_download_url']!)).status, 403);
  t.like(await wechatFile(), { status: 400, code: 'INVALID_REQUEST' });
});

test.serial('wrong-charset: the file is in neither GBK nor UTF-8', async (t) => {
  for (const payWay of WAYS) await desk.condition('wrong-charset', payWay);
  const { files } = unzip(await alipayZip());
  t.false(files[0]!.text.startsWith('#支付宝业务明细查询'));
  t.false((await wechatFile()).body.includes('交易时间'));
  const text = await paypalText();
  t.throws(() => JSON.parse(text));
});

test.serial('foreign-account: the bill is complete but belongs to another merchant', async (t) => {
  const { alipay, wechat, paypal } = await desk.world.config();
  for (const payWay of WAYS) await desk.condition('foreign-account', payWay);
  t.notRegex(unzip(await alipayZip()).files[0]!.text, new RegExp(alipay!.fields['sellerId']!));
  t.notRegex((await wechatFile()).body, new RegExp(wechat!.fields['mchid']!));
  t.not((await desk.paypal('GET', reportPath(desk.day))).body['account_number'], paypal!.fields['merchantId']);
});

test.serial('other-columns: a column has another name', async (t) => {
  for (const payWay of WAYS) await desk.condition('other-columns', payWay);
  const [alipay] = await desk.rows('alipay');
  t.false('商户订单号' in alipay!);
  const [wechat] = await desk.rows('wechat');
  t.false('商户订单号' in wechat!);
  const [paypal] = await desk.rows('paypal');
  t.false('transaction_amount' in paypal!);
});

test.serial('formula: foreign texts begin like formulas', async (t) => {
  for (const payWay of WAYS) await desk.condition('formula', payWay);
  t.true((await desk.rows('alipay'))[0]!['商品名称']!.startsWith('='));
  t.true((await desk.rows('wechat'))[0]!['商品名称']!.startsWith('='));
  t.true((await desk.rows('paypal'))[0]!['transaction_subject']!.startsWith('='));
});

test.serial('zip-bomb: a file of a few megabytes holds a gigabyte', async (t) => {
  await desk.condition('zip-bomb', 'alipay');
  const zip = await alipayZip();
  t.true(zip.byteLength < 4 * 1024 * 1024, String(zip.byteLength));
  t.true(unzip(zip).files[0]!.size > 2 ** 30);
});

test.serial('a condition that a channel lacks is refused', async (t) => {
  for (const [condition, payWay, more, code] of [
    ['wrong-hash', 'alipay', {}, 'condition_unknown_here'],
    ['zip-bomb', 'paypal', {}, 'condition_unknown_here'],
    ['expired-url', 'paypal', {}, 'condition_unknown_here'],
    ['filler', 'wechat', {}, 'rows_invalid'],
    ['late', 'wechat', { rows: 5 }, 'rows_invalid'],
    ['rainy', 'wechat', {}, 'invalid_request'],
    ['late', 'wechat', { date: '2026-02-30' }, 'date_invalid'],
  ] as const)
    t.like(await desk.condition(condition, payWay, more), { error: { code } }, condition);
});

test.serial('filler: stable payments of another system, included in the sums', async (t) => {
  const bills = [];
  for (const payWay of WAYS) {
    await desk.condition('filler', payWay, { date: desk.day, rows: 400 });
    const [once, again] = [await desk.rows(payWay), await desk.rows(payWay)];
    t.deepEqual(once, again);
    bills.push(once);
  }
  const [alipay = [], wechat = [], paypal = []] = bills;
  t.is(alipay.length, 401);
  t.is(wechat.length, 401);
  t.true(paypal.length > 50 && paypal.length < 100, 'PayPal tells only what has happened by noon in Beijing');
  t.is(new Set(alipay.map((row) => row['支付宝交易号'])).size, 401);
  t.true(wechat.slice(1).every((row) => row['商户订单号']!.startsWith('SHOP2_')));
  const { body, hash, sha1 } = await wechatFile();
  t.is(hash, sha1);
  const paid = wechat.reduce((sum, row) => sum + Math.round(Number(row['订单金额']) * 100), 0);
  t.true(body.includes(`\`401,\`${(paid / 100).toFixed(2)},`));
});
