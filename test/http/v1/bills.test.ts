import test from 'ava';
import { gzipSync } from 'node:zlib';
import { billedShop } from '../../support/billed-shop.ts';
import { as } from '../../support/admin.ts';
import { serviceOfFile, assertMarked } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { request } from '../../support/service.ts';

const started = await serviceOfFile(import.meta.filename);
const { service, nobody } = started;

// A past day of a shop at WeChat Pay whose bill was not requested yet.
await service.app.prepare();
const shop = await billedShop(service, 'wechat');
const { day } = shop;
const orders = { right: await shop.paid(), untold: await shop.place(), missing: await shop.paid() };
await shop.refunded(orders.right);
await shop.payUntold(orders.untold);
await shop.plant('paid_missing_at_channel', orders.missing);
await shop.plant('order_not_ours');
const unknown = (await shop.plant('order_unknown_here')).orderNo;
await shop.nextDay();

/** Logs in again: the earlier sessions have expired. */
async function tokenOf(username: string, password: string): Promise<string> {
  return (await nobody('POST', '/api/v1/login', { username, password })).body.data.token;
}
const adminToken = await tokenOf('alice', 'seven-quiet-otters-swim');
const admin = as(service, adminToken);
const viewer = as(service, await tokenOf('looker', 'nine-slow-herons-wade'));
coverRoutes(test, { ...started, admin, viewer });

/** Requests the bill and processes it. */
async function fetched(): Promise<string> {
  const { body, status } = await admin('POST', '/api/v1/bills', { payWay: 'wechat', day });
  if (status !== 200) throw new Error(JSON.stringify(body));
  while ((await service.app.bills.sweep.once()) > 0);
  return body.data.billNo;
}

test.serial('a requested bill is read and compared', async (t) => {
  const asked = await admin('POST', '/api/v1/bills', { payWay: 'wechat', day });
  t.is(asked.status, 200, JSON.stringify(asked.body));
  t.like(asked.body.data, {
    payWay: 'wechat',
    day,
    state: 'waiting',
    source: null,
    lines: 0,
    totals: null,
    fault: null,
  });
  const billNo = await fetched();
  t.is(billNo, asked.body.data.billNo);
  const { body } = await viewer('GET', `/api/v1/bills/${billNo}`);
  t.like(body.data, { billNo, state: 'done', source: 'channel', lines: 5, notOurs: 1, fault: null, quiet: null });
  t.regex(body.data.sha256, /^[0-9a-f]{64}$/);
  t.deepEqual(body.data.differences, [
    { kind: 'order_unknown_here', state: 'listed', count: 1 },
    { kind: 'paid_missing_at_channel', state: 'listed', count: 1 },
    { kind: 'paid_unknown_to_us', state: 'healed', count: 1 },
  ]);
  const sum = (member: string) =>
    body.data.sums.reduce((all: number, one: Record<string, number>) => all + one[member]!, 0);
  for (const member of ['payments', 'paidMinor', 'refunds', 'refundedMinor', 'feesMinor'])
    t.is(sum(member), body.data.totals[0][member], member);
});

test.serial('bills are listed by day, account and state, in pages', async (t) => {
  const billNo = await fetched();
  const numbers = async (query: string) =>
    (await viewer('GET', `/api/v1/bills?${query}`)).body.data.map((bill: { billNo: string }) => bill.billNo);
  for (const query of ['payWay=wechat', 'state=done', `from=${day}&to=${day}`, 'project=default', 'mode=simulator'])
    t.deepEqual(await numbers(query), [billNo], query);
  for (const query of [
    'payWay=paypal',
    'state=missing',
    'to=2020-01-01',
    'from=2999-01-01',
    'account=nobody',
    'mode=live',
  ])
    t.deepEqual(await numbers(query), [], query);
  await service.app.bills.plan();
  const all = await numbers('limit=100');
  t.true(all.length > 2);
  const paged: string[] = [];
  for (let cursor = ''; ;) {
    const { body } = await viewer('GET', `/api/v1/bills?limit=2${cursor}`);
    paged.push(...body.data.map((bill: { billNo: string }) => bill.billNo));
    if (!body.page.hasMore) break;
    cursor = `&cursor=${body.page.nextCursor}`;
  }
  t.deepEqual(paged, all);
  for (const query of ['payWay=cash', 'state=lost', 'from=today', 'limit=0', 'cursor=x', 'colour=red'])
    refused(t, await viewer('GET', `/api/v1/bills?${query}`), 400, 'invalid_request');
});

test.serial('differences are listed with both sides and the command that resolves them', async (t) => {
  const billNo = await fetched();
  const path = `/api/v1/bills/${billNo}/differences`;
  const { body } = await viewer('GET', `${path}?state=listed&kind=paid_missing_at_channel`);
  t.is(body.data.length, 1);
  const [difference] = body.data;
  t.like(difference, { kind: 'paid_missing_at_channel', orderNo: orders.missing, theirs: null, state: 'listed' });
  t.like(difference.ours, { amountMinor: 1000, currency: 'CNY' });
  t.is(difference.fix, `payctl exception resolve ${difference.exceptionId}`);
  const healed = (await viewer('GET', `${path}?kind=paid_unknown_to_us`)).body.data;
  t.like(healed, [{ orderNo: orders.untold, state: 'healed', fix: null }]);
  t.like(healed[0].theirs, { amountMinor: 1000, feeMinor: 6 });
  const first = (await viewer('GET', `${path}?limit=1`)).body;
  const second = (await viewer('GET', `${path}?limit=1&cursor=${first.page.nextCursor}`)).body;
  const third = (await viewer('GET', `${path}?limit=1&cursor=${second.page.nextCursor}`)).body;
  const [stranger] = (await viewer('GET', `${path}?kind=order_unknown_here`)).body.data;
  t.deepEqual(
    [first, second, third].map(({ data }) => data[0].id).toSorted(),
    [difference.id, healed[0].id, stranger.id].toSorted(),
  );
  const foreign = (await viewer('GET', `${path}?kind=order_not_ours&limit=1`)).body;
  t.like(foreign.data, [{ kind: 'order_not_ours', state: 'counted', ours: null, fix: null }]);
  t.is(foreign.page.nextCursor, null);
  for (const query of ['kind=odd', `kind=order_not_ours&cursor=${first.page.nextCursor}`])
    refused(t, await viewer('GET', `${path}?${query}`), 400, 'invalid_request');
  refused(t, await viewer('GET', '/api/v1/bills/B1/differences'), 404, 'not_found');

  const resolved = await admin('POST', `/api/v1/exceptions/${difference.exceptionId}/resolve`, {
    action: 'acknowledge',
    reason: 'Agreed with the channel',
  });
  t.is(resolved.status, 200);
  t.like((await viewer('GET', `${path}?kind=paid_missing_at_channel`)).body.data, [{ state: 'ended', fix: null }]);
});

test.serial(
  'an order number of ours that is missing here is listed without an order, and resolved by its command',
  async (t) => {
    const billNo = await fetched();
    const path = `/api/v1/bills/${billNo}/differences?kind=order_unknown_here`;
    const [stranger] = (await viewer('GET', path)).body.data;
    t.like(stranger, { orderNo: unknown, ours: null, state: 'listed', checks: 0, nextCheckAt: null });
    t.like(stranger.theirs, { amountMinor: 4321, currency: 'CNY' });
    t.is(stranger.fix, `payctl exception resolve ${stranger.exceptionId}`);
    const shown = (await viewer('GET', `/api/v1/exceptions/${stranger.exceptionId}`)).body.data;
    t.like(shown, { orderNo: unknown, clientId: null, project: 'default', receivedMinor: 4321, state: 'open' });
    const resolve = (action: string) =>
      admin('POST', `/api/v1/exceptions/${stranger.exceptionId}/resolve`, {
        action,
        reason: 'Given back in the portal',
      });
    for (const action of ['refund', 'accept', 'close', 'retry'])
      refused(t, await resolve(action), 400, 'invalid_request');
    t.is((await resolve('acknowledge')).status, 200);
    t.like((await viewer('GET', path)).body.data, [{ state: 'ended', fix: null }]);
    await admin('POST', `/api/v1/bills/${billNo}/rerun`);
    while ((await service.app.bills.sweep.once()) > 0);
    t.like((await viewer('GET', path)).body.data, [{ state: 'ended' }]);
  },
);

test.serial(
  'an administrator makes an account quiet with a reason, the ledger check lists it, and ending it reports the account again',
  async (t) => {
    const billNo = await fetched();
    const path = `/api/v1/bills/${billNo}/quiet`;
    const another = (await shop.plant('order_unknown_here')).orderNo;
    await fetched();
    const kinds = async () => (await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.differences;
    const unknowns = async () => (await kinds()).filter(({ kind }: { kind: string }) => kind === 'order_unknown_here');
    const quietOfBooks = async () => {
      for (let cursor = ''; ;) {
        const { body } = await viewer('GET', `/api/v1/books?limit=10000${cursor}`);
        if (body.data.bills) return body.data.bills.quiet;
        cursor = `&cursor=${body.data.nextCursor}`;
      }
    };
    const [found] = (await viewer('GET', `/api/v1/exceptions?orderNo=${another}`)).body.data;
    t.is(found.state, 'open');
    t.deepEqual(await quietOfBooks(), []);
    refused(t, await viewer('POST', path, { reason: 'A second system' }), 403, 'role_insufficient');
    refused(t, await viewer('DELETE', path), 403, 'role_insufficient');
    for (const body of [{}, { reason: '' }, { reason: 'x', more: 1 }])
      refused(t, await admin('POST', path, body), 400, 'invalid_request');
    refused(t, await admin('POST', '/api/v1/bills/B1/quiet', { reason: 'x' }), 404, 'not_found');
    refused(t, await admin('DELETE', '/api/v1/bills/B1/quiet'), 404, 'not_found');

    const made = await admin('POST', path, { reason: 'A second system' });
    t.like(made.body.data.quiet, { by: 'alice', reason: 'A second system' });
    t.like((await admin('POST', path, { reason: 'Again' })).body.data.quiet, { reason: 'A second system' });
    t.deepEqual(
      await unknowns(),
      [{ kind: 'order_unknown_here', state: 'ended', count: 1 }],
      'the difference that the administrator ended',
    );
    const hushed = (await viewer('GET', `/api/v1/exceptions/${found.id}`)).body.data;
    t.like(hushed, { state: 'resolved', resolution: 'quiet', resolvedBy: 'alice', reason: 'A second system' });
    await admin('POST', `/api/v1/bills/${billNo}/rerun`);
    while ((await service.app.bills.sweep.once()) > 0);
    const bill = (await viewer('GET', `/api/v1/bills/${billNo}`)).body.data;
    t.is(bill.notOurs, 3);
    t.is((await viewer('GET', `/api/v1/bills/${billNo}/differences?kind=order_not_ours`)).body.data.length, 3);
    t.deepEqual(await quietOfBooks(), [`wechat ${bill.account}`]);

    t.like((await admin('DELETE', path)).body.data, { quiet: null, state: 'matching' });
    t.is((await admin('DELETE', path)).status, 200);
    while ((await service.app.bills.sweep.once()) > 0);
    t.deepEqual(await unknowns(), [
      { kind: 'order_unknown_here', state: 'ended', count: 1 },
      { kind: 'order_unknown_here', state: 'listed', count: 1 },
    ]);
    t.is((await viewer('GET', `/api/v1/bills/${billNo}/differences?kind=order_not_ours`)).body.data.length, 1);
    t.is((await viewer('GET', `/api/v1/exceptions/${found.id}`)).body.data.state, 'open');
    const actions = (await admin('GET', '/api/v1/audit-log?action=bill.quiet')).body.data;
    t.is(actions.length, 1);
    t.like(actions[0], { target: billNo, actor: 'alice' });
    await admin('POST', path, { reason: 'For the tests below' });
    await fetched();
  },
);

test.serial('the lines of a bill are exported as CSV and NDJSON', async (t) => {
  const billNo = await fetched();
  const csv = await admin('GET', `/api/v1/bills/${billNo}/lines`);
  const rows = String(csv.body).trim().split('\r\n');
  t.is(rows.length, 7);
  t.is(
    rows[0],
    'line,kind,event,orderNo,refundNo,channelTradeNo,channelRefundNo,currency,amountMinor,discountMinor,feeMinor,shareMinor,at,raw',
  );
  const ndjson = await admin('GET', `/api/v1/bills/${billNo}/lines?format=ndjson&kind=refund`);
  t.like(ndjson.body, { kind: 'refund', orderNo: orders.right, amountMinor: 400, currency: 'CNY' });
  await assertMarked(t, `${service.url}/api/v1/bills/${billNo}/lines?kind=refund`, adminToken);
  for (const bad of ['bom=1', 'format=xml'])
    refused(t, await viewer('GET', `/api/v1/bills/${billNo}/lines?${bad}`), 400, 'invalid_request');
  refused(t, await viewer('GET', '/api/v1/bills/B1/lines'), 404, 'not_found');
});

test.serial('a bill that was read is compared again, and one that is missing cannot be', async (t) => {
  const billNo = await fetched();
  const again = await admin('POST', `/api/v1/bills/${billNo}/rerun`);
  t.like(again.body.data, { billNo, state: 'matching' });
  while ((await service.app.bills.sweep.once()) > 0);
  t.is((await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.state, 'done');
  await service.app.bills.plan();
  const { body } = await viewer('GET', '/api/v1/bills?payWay=paypal&limit=1');
  refused(t, await admin('POST', `/api/v1/bills/${body.data[0].billNo}/rerun`), 409, 'bill_not_read');
  refused(t, await admin('POST', '/api/v1/bills/B1/rerun'), 404, 'not_found');
  refused(t, await admin('GET', '/api/v1/bills/B1'), 404, 'not_found');
});

test.serial('a bill without a configuration, with an invalid day or with a future day is not requested', async (t) => {
  const ask = (more: object) => admin('POST', '/api/v1/bills', { payWay: 'wechat', day, ...more });
  refused(t, await ask({ account: 'nobody' }), 422, 'bills_not_configured');
  for (const wrong of [{ day: '2026-02-30' }, { day: '2999-01-01' }, { day: '2001-01-01' }, { payWay: 'cash' }])
    refused(t, await ask(wrong), 400, 'invalid_request');
});

test.serial('the settlement equals the bill’s own totals, to the cent', async (t) => {
  const billNo = await fetched();
  const { body } = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=wechat`);
  const { days, totals, missing, disagreements, balances, unchecked } = body.data;
  t.deepEqual([missing, disagreements, balances, unchecked], [[], [], [], []], 'WeChat Pay tells no balances');
  t.deepEqual(
    days.map(({ project }: { project: string | null }) => project),
    ['default', null],
  );
  t.like(days[0], { billNo, day, payments: 2, grossMinor: 2000, refunds: 1, refundsMinor: 400 });
  const bill = (await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.totals[0];
  t.like(totals, [
    { currency: 'CNY', payments: bill.payments, grossMinor: bill.paidMinor, refundsMinor: bill.refundedMinor },
  ]);
  t.is(totals[0].feesMinor, bill.feesMinor);
  t.is(totals[0].netMinor, bill.paidMinor - bill.refundedMinor - bill.feesMinor);
  const own = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&project=default`);
  t.is(own.body.data.totals[0].grossMinor, 2000);

  await service.app.store.transaction((tx) =>
    tx.bills.update({ billNo }, { totals: [{ currency: 'CNY', ...stored(bill), paid: String(bill.paidMinor + 1) }] }),
  );
  const odd = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=wechat`);
  t.like(odd.body.data.disagreements, [
    { billNo, what: 'paid', bill: bill.paidMinor + 1, lines: bill.paidMinor, currency: 'CNY' },
  ]);
  t.deepEqual(odd.body.data.shrunk, []);
  t.deepEqual(odd.body.data.unreadable, []);
  const shortfall = '订单总金额: the bill says 3, its lines add up to 2.';
  await service.app.store.transaction((tx) => tx.bills.update({ billNo }, { unreadable: 1, shortfall }));
  const unread = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=wechat`);
  t.like(unread.body.data.unreadable, [{ billNo, day, payWay: 'wechat', lines: 1, shortfall }]);
  await service.app.store.transaction((tx) => tx.bills.update({ billNo }, { unreadable: 0, shortfall: null }));
  const { lines } = (await viewer('GET', `/api/v1/bills/${billNo}`)).body.data;
  await service.app.store.transaction((tx) => tx.bills.update({ billNo }, { mostLines: lines + 2 }));
  const short = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=wechat`);
  t.like(short.body.data.shrunk, [{ billNo, day, payWay: 'wechat', lines, mostLines: lines + 2 }]);
  await service.app.store.transaction((tx) => tx.bills.update({ billNo }, { mostLines: lines }));
  const other = await viewer('GET', `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=alipay`);
  t.like(other.body.data.missing, [{ day, payWay: 'alipay' }]);
  for (const query of [`from=${day}&to=2020-01-01`, 'from=2020-01-01&to=2026-01-01', 'from=today', 'colour=red'])
    refused(t, await viewer('GET', `/api/v1/stats/settlement?${query}`), 400, 'invalid_request');
});

test.serial('a refund pending in its bill is settled by our own refund row, or listed', async (t) => {
  const billNo = await fetched();
  const path = `/api/v1/stats/settlement?mode=simulator&from=${day}&to=${day}&payWay=wechat`;
  const before = (await viewer('GET', path)).body.data;
  const { store } = service.app;
  const inBooks = (state: 'succeeded' | 'failed' | 'processing') =>
    store.transaction((tx) => tx.refunds.update({ orderNo: orders.right }, { state }));
  const kindOf = (kind: string, was: string) =>
    store.transaction((tx) => tx.sql`update bill_lines set kind = ${kind} where bill_no = ${billNo} and kind = ${was}`);
  const rerun = async () => {
    await admin('POST', `/api/v1/bills/${billNo}/rerun`);
    while ((await service.app.bills.sweep.once()) > 0);
  };
  await kindOf('pending', 'refund');
  await rerun();
  t.is((await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.sums[0].pendingRefunds, 1);
  t.deepEqual((await viewer('GET', path)).body.data, before, 'the refund succeeded, so nothing is listed');
  const { totals, disagreements } = before;
  await inBooks('processing');
  const open = (await viewer('GET', path)).body.data;
  const named = { billNo, day, payWay: 'wechat', project: 'default', currency: 'CNY', refunds: 1, amountMinor: 400 };
  t.like(open, { totals, disagreements, pendingRefunds: [{ ...named, end: 'open' }] });
  await inBooks('failed');
  const failed = (await viewer('GET', path)).body.data;
  t.like(failed, { disagreements, pendingRefunds: [{ ...named, end: 'failed' }] });
  t.like(failed.totals[0], { refunds: 0, refundsMinor: 0, netMinor: totals[0].netMinor + 398 });
  await kindOf('refund', 'pending');
  await inBooks('succeeded');
  await rerun();
  t.deepEqual((await viewer('GET', path)).body.data, before);
});

const stored = (bill: Record<string, number>) => ({
  payments: bill['payments']!,
  refunds: bill['refunds']!,
  refunded: String(bill['refundedMinor']),
  fees: String(bill['feesMinor']),
  net: String(bill['netMinor']),
});

/** The bill of the day as the channel returns it now. */
async function bytesOfDay(): Promise<Buffer> {
  const [account] = await service.app.ports.channels.forNotifications('default', 'wechat');
  const answer = await account!.channel.bills!.fetch(day);
  if (answer.kind !== 'bill') throw new Error(JSON.stringify(answer));
  const parts: Uint8Array[] = [];
  for await (const part of answer.bytes) parts.push(part);
  return Buffer.concat(parts);
}

test.serial('an uploaded bill file is read completely or not at all, and the same file changes nothing', async (t) => {
  const upload = (bytes: Uint8Array, query = `payWay=wechat&day=${day}`) =>
    request(service.url, 'POST', `/api/v1/bills/import?${query}`, bytes, {
      authorization: `Bearer ${adminToken}`,
      'content-type': 'application/octet-stream',
    });
  const bytes = await bytesOfDay();
  const read = await upload(bytes);
  t.is(read.status, 200, JSON.stringify(read.body));
  t.like(read.body.data, { state: 'matching', lines: 6 });
  while ((await service.app.bills.sweep.once()) > 0);
  const { billNo } = read.body.data;
  const before = (await viewer('GET', `/api/v1/bills/${billNo}`)).body.data;
  const same = await upload(bytes);
  while ((await service.app.bills.sweep.once()) > 0);
  t.is(same.body.data.sha256, before.sha256);
  t.deepEqual((await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.differences, before.differences);

  const other = gzipSync(Buffer.from('交易时间,公众账号ID\r\n`2026-11-20 10:00:00,`1\r\n'));
  const malformed = await upload(other);
  refused(t, malformed, 422, 'bill_malformed');
  t.like(malformed.body, { fault: 'wrong_columns', line: 1 });
  const cut = await upload(bytes.subarray(0, bytes.length - 20));
  refused(t, cut, 422, 'bill_malformed');
  t.is(cut.body.fault, 'cut_short');
  t.is((await viewer('GET', `/api/v1/bills/${billNo}`)).body.data.sha256, before.sha256);
  refused(t, await upload(bytes, 'payWay=wechat&day=someday'), 400, 'invalid_request');
  refused(t, await upload(bytes, `payWay=wechat&day=${day}&account=nobody`), 422, 'bills_not_configured');
});
