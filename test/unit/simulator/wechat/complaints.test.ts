import test from 'ava';
import { createPrivateKey, privateDecrypt, constants, hash } from 'node:crypto';
import type { DisputeDesk, PlaceOrder } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { until, type World } from '../world.ts';
import { call, channelOf, configOf, newNo, startWechat } from './merchant.ts';

const PATH = '/v3/merchant-service/complaints-v2';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const desk = (of = config) => channelOf(world, of).disputes as DisputeDesk;

/** A paid order over 12.34 CNY. */
async function paid(): Promise<string> {
  const order: PlaceOrder = {
    orderNo: newNo(),
    subject: 'A cup of tea',
    amount: { minor: 1234n, currency: 'CNY' },
    scene: 'qr',
    expiresAt: new Date(Date.now() + 3_600_000),
    sentAt: new Date(),
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: '',
    cancelUrl: '',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
  };
  await channelOf(world, config).place(order);
  await world.post('/sim/pay', { orderNo: order.orderNo });
  return order.orderNo;
}

async function act(orderNo: string, step: string, more: object = {}): Promise<string> {
  const { id } = await world.post<{ id: string }>('/sim/dispute', { orderNo, act: step, ...more });
  return id;
}

async function stateOf(id: string): Promise<string> {
  const said = await desk().read(id);
  return said.kind === 'found' ? said.dispute.state : said.kind;
}

test('a complaint is read with its payment, its disputed amount and the party to act next', async (t) => {
  const orderNo = await paid();
  const id = await act(orderNo, 'open', { amount: '4.00' });
  const said = await desk().read(id);
  t.is(said.kind, 'found');
  if (said.kind !== 'found') return;
  const { dispute } = said;
  t.like(dispute, { channelDisputeNo: id, orderNo, reason: 'REFUND', state: 'needs_answer', dueAt: null });
  t.deepEqual(dispute.amount, { minor: 400n, currency: 'CNY' });
  t.regex(dispute.tradeNos[0] ?? '', /^4200/);
  t.deepEqual(await desk().answer(id, '已经发货', []), { kind: 'done' });
  t.is(await stateOf(id), 'under_review');
  await act(orderNo, 'ask');
  t.is(await stateOf(id), 'needs_answer', 'the payer wrote again');
  await act(orderNo, 'win');
  t.is(await stateOf(id), 'won');
  t.like(await desk().answer(id, '已经发货', []), { kind: 'refused', code: 'INVALID_REQUEST' });
  t.is(desk().accept, undefined);
  const again = await act(orderNo, 'open');
  t.deepEqual(await desk().finish?.(again, 'other'), { kind: 'done' });
  t.is(await stateOf(again), 'won');
  t.like(await desk().finish?.(again, 'other'), { kind: 'refused', code: 'INVALID_REQUEST' });
});

test('a payer who complains again reopens the same complaint, and the list still has it weeks later', async (t) => {
  const orderNo = await paid();
  const id = await act(orderNo, 'open');
  await act(orderNo, 'win');
  t.is(await stateOf(id), 'won');
  const marks = async (since: Date) => {
    const said = await desk().list(since);
    return said.kind === 'listed'
      ? said.disputes.filter((one) => one.channelDisputeNo === id).map(({ mark }) => mark)
      : said;
  };
  const before = await marks(new Date());
  await act(orderNo, 'appeal');
  t.is(await stateOf(id), 'needs_answer');
  const after = await marks(new Date());
  t.notDeepEqual(after, before, 'its mark is another one');
  t.deepEqual(
    await marks(new Date(Date.now() + 20 * 86_400_000)),
    after,
    'WeChat Pay lists by the day of the complaint',
  );
});

test.serial('a lagging query neither lists nor finds a complaint', async (t) => {
  const id = await act(await paid(), 'open');
  const lag = () => world.post('/sim/faults', { payWay: 'wechat', call: 'dispute', fault: 'query-lag' });
  await lag();
  t.deepEqual(await desk().read(id), { kind: 'absent' });
  await lag();
  t.deepEqual(await desk().list(new Date()), { kind: 'listed', disputes: [], next: undefined });
  t.is(await stateOf(id), 'needs_answer');
});

test('a reply that is too long is not sent, and a complaint of another merchant is not found', async (t) => {
  const id = await act(await paid(), 'open');
  t.like(await desk().answer(id, '字'.repeat(201), []), { kind: 'refused', code: 'PARAM_ERROR' });
  t.is(await stateOf(id), 'needs_answer');
  t.is((await call(world, config, 'POST', `${PATH}/${id}/response`, { response_content: '好' })).code, 'PARAM_ERROR');
  const other = await configOf(world, 'other');
  t.deepEqual(await desk(other).read(id), { kind: 'absent' });
  t.like(await desk(other).answer(id, '好', []), { kind: 'refused', code: 'RESOURCE_NOT_EXISTS' });
});

test('images are uploaded before the reply that names them, each with its hash, and only by the merchant itself', async (t) => {
  const id = await act(await paid(), 'open');
  const png = { name: 'a photo.png', bytes: Buffer.from('89504e470d0a1a0a00', 'hex') };
  t.like(await desk().answer(id, '好', [{ name: 'x.pdf', bytes: Buffer.from('%PDF-1.7') }]), {
    kind: 'refused',
    code: 'FILE_TYPE_INVALID',
  });
  t.like(await desk().answer(id, '好', [{ ...png, bytes: Buffer.concat([png.bytes, Buffer.alloc(2 ** 21)]) }]), {
    kind: 'refused',
    code: 'FILE_TOO_LARGE',
  });
  t.like(
    await desk().answer(
      id,
      '好',
      Array.from({ length: 5 }, () => png),
    ),
    { kind: 'refused' },
  );
  t.is(await stateOf(id), 'needs_answer');
  t.deepEqual(await desk().answer(id, '好', [png, png]), { kind: 'done' });
  t.is(await stateOf(id), 'under_review');
  const body = { complainted_mchid: config.fields['mchid'], response_content: '好', response_images: ['nobodys'] };
  t.is((await call(world, config, 'POST', `${PATH}/${id}/response`, body)).code, 'PARAM_ERROR');
});

// Members, words and limits: pay.weixin.qq.com, chapter10_2_12 (history) and chapter10_2_19 (refund) of API v3, and their changelog.
test('replies appear in the complaint history, and an approved refund ends the complaint once it is made', async (t) => {
  const orderNo = await paid();
  const id = await act(orderNo, 'open');
  const at = (step: string) => `${PATH}/${id}/${step}`;
  const complainted_mchid = config.fields.mchid;
  await call(world, config, 'POST', at('response'), { complainted_mchid, response_content: '请稍候' });
  await act(orderNo, 'ask');
  const agreed = { action: 'APPROVE', launch_refund_day: 0, remark: '当天退款' };
  t.is((await call(world, config, 'POST', at('update-refund-progress'), agreed)).status, 204);
  t.is(await stateOf(id), 'under_review');
  const refund = {
    out_trade_no: orderNo,
    out_refund_no: newNo(),
    amount: { refund: 1234, total: 1234, currency: 'CNY' },
  };
  t.is((await call(world, config, 'POST', '/v3/refund/domestic/refunds', refund)).status, 200);
  await until(async () => (await stateOf(id)) === 'won');

  interface Page {
    data: { log_id: string; operator: string; operate_type: string; operate_details: string; operate_time: string }[];
    limit: number;
    offset: number;
    total_count?: number;
  }
  const page = async (query = '') =>
    JSON.parse((await call(world, config, 'GET', `${at('negotiation-historys')}${query}`)).body) as Page;
  const whole = await page();
  t.like(whole, { limit: 100, offset: 0, total_count: 5 });
  t.deepEqual(
    whole.data.map(({ operator, operate_type: type }) => `${operator} ${type}`),
    [
      '投诉人 USER_CREATE_COMPLAINT',
      '商户 MERCHANT_RESPONSE',
      '投诉人 USER_RESPONSE',
      '商户 MERCHANT_APPROVE_REFUND',
      '系统 COMPLAINT_REFUND_RECEIVED_SYSTEM_MESSAGE',
    ],
  );
  t.is(whole.data[1]?.operate_details, '请稍候');
  t.is(new Set(whole.data.map(({ log_id: one }) => one)).size, 5);
  const second = await page('?limit=2&offset=2');
  t.deepEqual(second.data, whole.data.slice(2, 4));
  t.is(second.total_count, undefined);
  for (const bad of ['?limit=301', '?limit=0', '?offset=-1'])
    t.is((await call(world, config, 'GET', `${at('negotiation-historys')}${bad}`)).code, 'PARAM_ERROR', bad);
  t.is((await call(world, config, 'GET', `${PATH}/200200000000000000000000000/negotiation-historys`)).status, 404);
});

test('a refused refund ends the complaint with its reason, and only a refund complaint can be answered so', async (t) => {
  const id = await act(await paid(), 'open');
  const answer = (body: object, of = id) => call(world, config, 'POST', `${PATH}/${of}/update-refund-progress`, body);
  for (const bad of [
    { action: 'MAYBE' },
    { action: 'REJECT', reject_reason: '不'.repeat(201) },
    { action: 'APPROVE', launch_refund_day: -1 },
    { action: 'REJECT', reject_media_list: ['nobody’s'] },
  ])
    t.is((await answer(bad)).code, 'PARAM_ERROR', JSON.stringify(bad));
  t.is((await answer({ action: 'REJECT', reject_reason: '已签收' })).status, 204);
  t.is((await answer({ action: 'APPROVE' })).code, 'INVALID_REQUEST');
  const { body } = await call(world, config, 'GET', `${PATH}/${id}/negotiation-historys`);
  const last = (JSON.parse(body) as { data: object[] }).data.at(-1);
  // The spelling of the vendor's page.
  t.like(last, { operator: '商户', operate_type: 'MERCHANT_REFUSE_RERUND', operate_details: '已签收' });
  const other = await act(await paid(), 'open', { reason: 'SERVICE_NOT_WORK' });
  t.is((await answer({ action: 'APPROVE' }, other)).code, 'INVALID_REQUEST');
});

// wechatpayv3 for Python names no boundary (minibear2021/wechatpayv3, wechatpayv3/core.py, request).
test('an image is accepted from a form without a stated boundary', async (t) => {
  const file = Buffer.from('89504e470d0a1a0a00', 'hex').toString('latin1');
  const meta = JSON.stringify({ filename: 'a.png', sha256: hash('sha256', Buffer.from(file, 'latin1')) });
  const part = (head: string, bytes: string) => `--mark\r\nContent-Disposition: form-data; ${head}\r\n\r\n${bytes}\r\n`;
  const form = `${part('name="meta"', meta)}${part('name="file"; filename="a.png"', file)}--mark--\r\n`;
  const upload = (type: string) =>
    call(world, config, 'POST', '/v3/merchant-service/images/upload', undefined, {
      headers: { 'content-type': type },
      form: { bytes: Buffer.from(form, 'latin1'), signed: meta },
    });
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=mark']) {
    const { status, body } = await upload(type);
    t.is(status, 200, body);
    t.truthy((JSON.parse(body) as { media_id?: string }).media_id);
  }
  t.is((await upload('multipart/form-data; boundary=other')).status, 401);
});

test('complaints are listed for at most 30 days, and every page is read', async (t) => {
  const orderNo = await paid();
  const ids = [];
  for (let n = 0; n < 51; n += 1) ids.push(await act(orderNo, 'open'));
  const since = new Date(Date.now() - 86_400_000);
  const listed = new Map<string, string>();
  let next: string | undefined;
  let pages = 0;
  do {
    const page = await desk().list(since, next);
    if (page.kind !== 'listed') return t.fail(page.detail);
    for (const { channelDisputeNo, mark } of page.disputes) listed.set(channelDisputeNo, mark);
    next = page.next;
    pages += 1;
  } while (next !== undefined);
  t.true(pages >= 2);
  t.true(ids.every((id) => listed.has(id)));
  const last = ids.at(-1)!;
  await act(orderNo, 'ask');
  const [, after] = await Promise.all([desk().list(since), desk().list(since, String(ids.length - 1))]);
  const asked = after.kind === 'listed' && after.disputes.find((one) => one.channelDisputeNo === last);
  t.true(asked && asked.mark !== listed.get(last), 'a payer who writes again shows in the list');
  t.like(await desk().list(new Date(Date.now() - 40 * 86_400_000)), { kind: 'listed', disputes: [] });
  for (const query of [
    '',
    'begin_date=2026-01-01&end_date=2026-03-01',
    'limit=51&begin_date=2026-01-01&end_date=2026-01-02',
  ])
    t.is((await call(world, config, 'GET', `${PATH}?${query}`)).code, 'PARAM_ERROR', query);
});

test("the payer's phone number is encrypted for the merchant and is never read", async (t) => {
  const id = await act(await paid(), 'open');
  const { payer_phone: encrypted } = JSON.parse((await call(world, config, 'GET', `${PATH}/${id}`)).body) as {
    payer_phone: string;
  };
  const key = createPrivateKey(config.pems['wechat_merchant_key']?.[0] ?? '');
  const opened = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING }, Buffer.from(encrypted, 'base64'));
  t.regex(opened.toString(), /^\d{11}$/);
  const said = JSON.stringify(await desk().read(id), (_name, one: unknown) => (typeof one === 'bigint' ? '' : one));
  t.false(said.includes(encrypted));
});
