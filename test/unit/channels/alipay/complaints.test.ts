import test from 'ava';
import type { DisputeDesk } from '../../../../server/payments/channel.ts';
import { APP_ID, channelSaying, SELLER_ID } from './fixture.ts';

const ID = '1234567890';

function complaint(change: object = {}) {
  return {
    code: '10000',
    msg: 'Success',
    id: Number(ID),
    task_id: '10243351927',
    opposite_pid: SELLER_ID,
    complain_amount: '4.00',
    gmt_complain: '2026-03-01 10:00:00',
    gmt_overdue: '2026-03-02 10:00:00',
    complain_content: '没有收到',
    contact: '138****0000',
    trade_no: '2026030122001',
    status: 'WAIT_PROCESS',
    complaint_trade_info_list: [{ trade_no: '2026030122001', out_no: 'P1', amount: '12.30', status: 'WAIT_PROCESS' }],
    ...change,
  };
}

const fields = { appId: APP_ID, sellerId: SELLER_ID };
const desk = (said: object) => channelSaying(said, {}, fields).disputes as DisputeDesk;
const read = (change: object = {}) => desk(complaint(change)).read(ID);

test('a complaint is read with its payment, disputed amount and due date', async (t) => {
  const said = await read();
  if (said.kind !== 'found') return t.fail(JSON.stringify(said));
  t.deepEqual(said.dispute, {
    channelDisputeNo: ID,
    tradeNos: ['2026030122001'],
    orderNo: 'P1',
    reason: 'COMPLAINT',
    amount: { minor: 400n, currency: 'CNY' },
    state: 'needs_answer',
    dueAt: new Date('2026-03-02T02:00:00Z'),
    openedAt: new Date('2026-03-01T02:00:00Z'),
  });
  t.false(JSON.stringify({ ...said.dispute, amount: '' }).includes('138'), 'the contact of the payer is not read');
});

test('every status maps to a state, and an unknown status ends no complaint', async (t) => {
  const words = {
    WAIT_PROCESS: 'needs_answer',
    OVERDUE: 'needs_answer',
    PART_OVERDUE: 'needs_answer',
    PROCESSING: 'under_review',
    EATEN: 'under_review',
    PROCESSED: 'won',
    OVERDUE_PROCESSED: 'won',
    DROP_COMPLAIN: 'won',
    DROP_OVERDUE_COMPLAIN: 'won',
    DROP_PROCESSED: 'won',
    DROP_OVERDUE_PROCESSED: 'won',
  };
  for (const [status, state] of Object.entries(words)) {
    const said = await read({ status });
    if (said.kind !== 'found') return t.fail(status);
    t.is<string, string>(said.dispute.state, state, status);
    t.is(said.dispute.lost, undefined, 'a complaint takes no money');
  }
});

test('a complaint of another merchant is absent, and another number or an invalid response is unknown', async (t) => {
  t.is((await read({ opposite_pid: '2088000000009999' })).kind, 'absent');
  for (const wrong of [{ id: 77 }, { id: 2 ** 60 }, { gmt_complain: 'yesterday' }, { status: undefined }])
    t.is((await read(wrong)).kind, 'unknown', JSON.stringify(wrong));
  t.is((await read({ complain_amount: '1,00' })).kind, 'unknown');
  for (const refusal of [
    { code: '40004', msg: 'Business Failed', sub_code: 'COMPLAINT_NOT_EXIST', sub_msg: 'x' },
    { code: '40006', msg: 'Insufficient Permissions', sub_code: 'isv.insufficient-isv-permissions', sub_msg: 'x' },
  ])
    t.is((await desk(refusal).read(ID)).kind, 'unknown', refusal.code);
});

test('the complaint list is read page by page and shows changes', async (t) => {
  const { id, status, gmt_overdue } = complaint();
  const page = (length: number) => ({
    code: '10000',
    complaint_list: Array.from({ length }, (_, n) => ({ id: id + n, status, gmt_overdue })),
  });
  const since = new Date('2026-03-01T00:00:00Z');
  t.like(await desk(page(20)).list(since), { kind: 'listed', next: '2' });
  const last = await desk(page(1)).list(since, '2');
  if (last.kind !== 'listed') return t.fail();
  t.is(last.next, undefined);
  t.is(last.disputes[0]?.channelDisputeNo, ID);
  const changed = await desk({ code: '10000', complaint_list: [{ id, status: 'PROCESSED' }] }).list(since);
  t.not(changed.kind === 'listed' && changed.disputes[0]?.mark, last.disputes[0]?.mark);
  t.is((await desk({ code: '10000', complaint_list: [{}] }).list(since)).kind, 'unknown');
  t.like(await desk({ code: '10000' }).list(since), { kind: 'listed', disputes: [] });
});

test('a response without confirmation is unknown, and a business refusal is refused', async (t) => {
  t.deepEqual(await desk({ code: '10000', complaint_process_success: true }).finish!(ID, 'refunded'), { kind: 'done' });
  for (const said of [{ code: '10000' }, { code: '10000', complaint_process_success: false }, { code: '20000' }])
    t.is((await desk(said).finish!(ID, 'other')).kind, 'unknown', JSON.stringify(said));
  const refusal = { code: '40004', msg: 'Business Failed', sub_code: 'COMPLAINT_PROCESSED', sub_msg: 'x' };
  t.like(await desk(refusal).answer(ID, 'Delivered', []), { kind: 'refused', code: 'COMPLAINT_PROCESSED' });
  t.is(desk({}).accept, undefined);
});
