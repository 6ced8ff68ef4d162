import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { createTransport } from '../../../../server/channels/transport.ts';
import type { DisputeDesk } from '../../../../server/payments/channel.ts';
import { startWorld, type World } from '../world.ts';
import { clientFor, order, type Client } from './client.ts';

const FAMILY = 'alipay.security.risk.complaint';
const LIST = `${FAMILY}.info.batchquery`;
const READ = `${FAMILY}.info.query`;
const FINISH = `${FAMILY}.process.finish`;

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

let count = 0;

/** A paid order of 12.30 CNY. */
async function paid(): Promise<string> {
  const orderNo = `COMPLAINT${String(++count).padStart(6, '0')}`;
  await client.call('alipay.trade.precreate', order(orderNo));
  await world.post('/sim/pay', { orderNo });
  return orderNo;
}

interface Made {
  id: string;
  taskId: string;
}
const act = (orderNo: string, action: string, more: object = {}) =>
  world.post<Made>('/sim/dispute', { orderNo, act: action, ...more });

const read = async (id: string) =>
  (await client.call(READ, { complain_id: id })).content as unknown as Record<string, unknown>;
const list = async (content: object) => {
  const answer = await client.call(LIST, content);
  return answer.content as unknown as { code: string; total_size: number; complaint_list?: { id: number }[] };
};

test('a complaint shows its trades, its due date and its history', async (t) => {
  const orderNo = await paid();
  const { id, taskId } = await act(orderNo, 'open', { amount: '4.00', reason: '没有收到' });
  const trade = (await client.call('alipay.trade.query', { out_trade_no: orderNo })).content;
  const shown = await read(id);
  t.like(shown, { code: '10000', id: Number(id), task_id: taskId, status: 'WAIT_PROCESS', complain_amount: '4.00' });
  t.like(shown, { complain_content: '没有收到', trade_no: trade['trade_no'], process_code: undefined });
  t.like((shown['complaint_trade_info_list'] as object[])[0], {
    trade_no: trade['trade_no'],
    out_no: orderNo,
    amount: '12.30',
  });
  t.true(String(shown['gmt_overdue']) > String(shown['gmt_complain']));
  const done = await client.call(FINISH, { id_list: [Number(id)], process_code: 'REFUND', remark: '已退款' });
  t.is(done.signed, 'genuine');
  t.is(done.content['complaint_process_success'] as unknown, true);
  t.like(await read(id), { status: 'PROCESSED', process_code: 'REFUND', process_remark: '已退款' });
  const again = await client.call(FINISH, { id_list: [Number(id)], process_code: 'REFUND' });
  t.is(again.content['code'], '40004', 'one word is taken');
  t.is((await act(orderNo, 'cancel')).id, id);
  t.is((await read(id))['status'], 'DROP_PROCESSED');
});

test('an unanswered complaint becomes overdue, and can still be processed or withdrawn', async (t) => {
  const orderNo = await paid();
  const late = (await act(orderNo, 'open', { dueDays: 0 })).id;
  t.is((await read(late))['status'], 'OVERDUE');
  await client.call(FINISH, { id_list: [Number(late)], process_code: 'ORTHER' });
  t.is((await read(late))['status'], 'OVERDUE_PROCESSED');
  const dropped = (await act(orderNo, 'open', { dueDays: 0 })).id;
  await act(orderNo, 'cancel');
  t.is((await read(dropped))['status'], 'DROP_OVERDUE_COMPLAIN');
});

test('complaints are listed newest first, in pages, and by each filter', async (t) => {
  const orderNo = await paid();
  const made = [];
  for (let n = 0; n < 3; n += 1) made.push(await act(orderNo, 'open'));
  const { trade_no: tradeNo } = (await client.call('alipay.trade.query', { out_trade_no: orderNo })).content;
  const ids = async (content: object) => (await list(content)).complaint_list?.map(({ id }) => String(id));
  const all = made.map(({ id }) => id).toSorted((a, b) => Number(b) - Number(a));
  t.deepEqual(
    (await ids({ trade_no: tradeNo }))?.toSorted((a, b) => Number(b) - Number(a)),
    all,
  );
  const pages = [1, 2].map((page) => ids({ trade_no: tradeNo, current_page_num: page, page_size: 2 }));
  const [first, second] = await Promise.all(pages);
  t.deepEqual([first?.length, second?.length], [2, 1]);
  t.is((await list({ trade_no: tradeNo, page_size: 1 })).total_size, 3);
  t.deepEqual(await ids({ task_id: made[1]!.taskId }), [made[1]!.id]);
  t.deepEqual(await ids({ trade_no: tradeNo, status_list: ['PROCESSED'] }), []);
  t.deepEqual(await ids({ trade_no: tradeNo, gmt_complaint_start: '2099-01-01 00:00:00' }), []);
  t.deepEqual(await ids({ trade_no: tradeNo, gmt_process_start: '2020-01-01 00:00:00' }), []);
  for (const wrong of [{ page_size: 0 }, { gmt_complaint_start: 'today' }, { status_list: ['EATEN'] }])
    t.is((await list(wrong)).code, '40002', JSON.stringify(wrong));
});

test('the client uploads images before the message that names them, and reads the result', async (t) => {
  const { id } = await act(await paid(), 'open');
  const { fields, pems } = (await world.config())['alipay']!;
  const send = createTransport({ timeoutMs: 120_000 });
  const now = () => new Date();
  const channel = alipayKind.create({ mode: 'simulator', fields, pems, simulatorUrl: world.url, send, now });
  const desk = channel.disputes as DisputeDesk;
  const png = { name: '照片.png', bytes: Buffer.from('89504e470d0a1a0a00', 'hex') };
  t.like(await desk.answer(id, '已发货', [{ name: 'a.pdf', bytes: Buffer.from('%PDF-1.7') }]), { kind: 'refused' });
  t.deepEqual(await desk.answer(id, '已发货', [png, png]), { kind: 'done' });
  const shown = await read(id);
  t.like(shown, { status: 'PROCESSED', process_code: 'SUBMIT_PROOF_NOT_CONTACTED', process_remark: '已发货' });
  t.is((shown['process_img_url_list'] as string[]).length, 2);
  t.like(await desk.read(id), { kind: 'found', dispute: { state: 'won' } });
  t.like(await desk.answer(id, '已发货', []), { kind: 'refused', code: 'COMPLAINT_PROCESSED' });
  const unknown = {
    id_list: [Number(id)],
    process_code: 'REFUND',
    img_file_list: [{ img_url: 'x', img_url_key: 'y' }],
  };
  t.is((await client.call(FINISH, unknown)).content['code'], '40004');
});

test('an incomplete request or a complaint of another merchant is refused', async (t) => {
  const { id } = await act(await paid(), 'open');
  await world.post('/sim/accounts', { payWay: 'alipay', name: 'stranger' });
  const stranger = await clientFor(world, 'stranger');
  t.is((await stranger.call(READ, { complain_id: id })).content['code'], '40004');
  t.is((await stranger.call(FINISH, { id_list: [Number(id)], process_code: 'REFUND' })).content['code'], '40004');
  for (const wrong of [{}, { id_list: [] }, { id_list: [Number(id)] }, { id_list: [Number(id)], process_code: 'DONE' }])
    t.is((await client.call(FINISH, wrong)).content['code'], '40002', JSON.stringify(wrong));
  t.is((await read(id))['status'], 'WAIT_PROCESS');
});
