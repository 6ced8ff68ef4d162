import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { startWorld, type World } from '../world.ts';
import { clientFor, order, type Client } from './client.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

async function paid(orderNo: string, amount = '100.00'): Promise<void> {
  await client.call('alipay.trade.precreate', order(orderNo, amount));
  await world.post('/sim/pay', { orderNo });
}

async function refund(orderNo: string, refundNo: string, amount: string): Promise<Record<string, string>> {
  const content = { out_trade_no: orderNo, out_request_no: refundNo, refund_amount: amount };
  return (await client.call('alipay.trade.refund', content)).content;
}

async function refundQuery(orderNo: string, refundNo: string, options = {}): Promise<Record<string, string>> {
  const content = { out_trade_no: orderNo, out_request_no: refundNo, ...options };
  return (await client.call('alipay.trade.fastpay.refund.query', content)).content;
}

test.serial(
  'refund_fee is cumulative, a repeat has no effect, and a repeat with another amount is refused',
  async (t) => {
    await paid('SUM');
    t.like(await refund('SUM', 'R1', '30.00'), { code: '10000', fund_change: 'Y', refund_fee: '30.00' });
    t.like(await refund('SUM', 'R2', '20.00'), { fund_change: 'Y', refund_fee: '50.00' });
    t.like(await refund('SUM', 'R1', '30.00'), { code: '10000', fund_change: 'N', refund_fee: '50.00' });
    t.like(await refund('SUM', 'R1', '31.00'), { code: '40004', sub_code: 'ACQ.DISCORDANT_REPEAT_REQUEST' });
    t.like(await refund('SUM', 'R3', '50.01'), { sub_code: 'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL' });
    const { orders } = await world.ledger('SUM');
    t.like(orders[0], { paid: 10_000, refunded: 5000, refunds: 2 });
  },
);

test.serial('a fully refunded trade is TRADE_CLOSED with its payment time', async (t) => {
  await paid('FULL');
  await refund('FULL', 'F1', '100.00');
  const { content } = await client.call('alipay.trade.query', { out_trade_no: 'FULL' });
  t.is(content['trade_status'], 'TRADE_CLOSED');
  t.truthy(content['send_pay_date']);
});

test.serial('an unpaid trade is not refunded', async (t) => {
  await client.call('alipay.trade.precreate', order('UNPAID'));
  t.like(await refund('UNPAID', 'U1', '1.00'), { sub_code: 'ACQ.TRADE_NOT_EXIST' });
  await world.post('/sim/scan', { orderNo: 'UNPAID' });
  t.like(await refund('UNPAID', 'U1', '1.00'), { sub_code: 'ACQ.TRADE_STATUS_ERROR' });
});

test.serial('the refund query returns the refund, and nothing for an unknown one', async (t) => {
  await paid('ASK');
  await refund('ASK', 'A1', '10.00');
  t.like(await refundQuery('ASK', 'A1'), {
    code: '10000',
    refund_status: 'REFUND_SUCCESS',
    refund_amount: '10.00',
    total_amount: '100.00',
  });
  const unknown = await refundQuery('ASK', 'A2');
  t.is(unknown['code'], '10000');
  t.is(unknown['refund_status'], undefined);
});

test.serial('the refund query returns the time of the refund only on request', async (t) => {
  await paid('TIME');
  await refund('TIME', 'T1', '10.00');
  t.is((await refundQuery('TIME', 'T1'))['gmt_refund_pay'], undefined);
  const told = await refundQuery('TIME', 'T1', { query_options: ['gmt_refund_pay'] });
  t.regex(told['gmt_refund_pay'] ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  for (const query_options of ['gmt_refund_pay', ['something_else']])
    t.is((await refundQuery('TIME', 'T1', { query_options }))['sub_code'], 'ACQ.INVALID_PARAMETER');
});

test.serial('a lost refund returns fund_change=N and is made when its number is sent again', async (t) => {
  await paid('LOST');
  await world.post('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'lost-refund' });
  t.like(await refund('LOST', 'L1', '10.00'), { code: '10000', fund_change: 'N', refund_fee: '0.00' });
  t.is((await refundQuery('LOST', 'L1'))['refund_status'], undefined);
  t.is((await world.ledger('LOST')).orders[0]?.refunds, 0);
  t.like(await refund('LOST', 'L1', '10.00'), { fund_change: 'Y', refund_fee: '10.00' });
});

test.serial('a pending refund returns fund_change=N until the clock completes it', async (t) => {
  await paid('PEND');
  await world.post('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'pending-refund' });
  t.like(await refund('PEND', 'P1', '10.00'), { code: '10000', fund_change: 'N', refund_fee: '0.00' });
  t.is((await refundQuery('PEND', 'P1'))['refund_status'], undefined);
  await world.post('/sim/clock', { advanceSeconds: 120 });
  t.is((await refundQuery('PEND', 'P1'))['refund_status'], 'REFUND_SUCCESS');
});

test.serial('a refund can fail after its success and succeed after its refusal', async (t) => {
  await paid('BACK');
  await world.post('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'refund-success-then-fail' });
  t.is((await refund('BACK', 'B1', '10.00'))['fund_change'], 'Y');
  await world.post('/sim/clock', { advanceSeconds: 120 });
  t.is((await refundQuery('BACK', 'B1'))['refund_status'], undefined);
  await world.post('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'success-after-failed' });
  t.is((await refund('BACK', 'B2', '20.00'))['sub_code'], 'ACQ.SELLER_BALANCE_NOT_ENOUGH');
  await world.post('/sim/clock', { advanceSeconds: 120 });
  t.is((await refundQuery('BACK', 'B2'))['refund_status'], 'REFUND_SUCCESS');
  t.like((await world.ledger('BACK')).orders[0], { refunded: 2000, refunds: 1 });
});

test.serial('a portal refund counts with the others', async (t) => {
  await paid('PORTAL');
  await world.post('/sim/refund-elsewhere', { orderNo: 'PORTAL', amount: '60.00' });
  t.like(await refund('PORTAL', 'O1', '60.00'), { sub_code: 'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL' });
  t.like(await refund('PORTAL', 'O2', '40.00'), { fund_change: 'Y', refund_fee: '100.00' });
  t.like(
    (await world.ledger('PORTAL')).entries.find(({ origin }) => origin === 'portal'),
    { type: 'refunded', minor: 6000 },
  );
});

test.serial('effect faults: a foreign refund next to ours, an abnormal refund and a refused duplicate', async (t) => {
  await paid('EFFECT');
  const set = (fault: string) =>
    world.post('/sim/faults', { payWay: 'alipay', call: 'refund', fault, orderNo: 'EFFECT' });
  await set('foreign-refund');
  t.is((await refund('EFFECT', 'E1', '10.00'))['fund_change'], 'Y');
  t.like((await world.ledger('EFFECT')).orders[0], { refunds: 2, refunded: 1001 });
  await set('abnormal-refund');
  t.is((await refund('EFFECT', 'E2', '10.00'))['fund_change'], 'N');
  t.is((await refundQuery('EFFECT', 'E2'))['refund_status'], undefined);
  await set('same-id-concurrent-refusal');
  t.is((await refund('EFFECT', 'E3', '10.00'))['sub_code'], 'ACQ.SYSTEM_ERROR');
  t.like((await world.ledger('EFFECT')).orders[0], { refunds: 2, refunded: 1001 });
});

test.serial(
  "a trade accepts refunds until the last day of the adapter's refund window and is finished after it",
  async (t) => {
    const { refundWindowDays } = alipayKind.limits;
    await paid('OLD');
    await world.post('/sim/clock', { advanceSeconds: (refundWindowDays - 1) * 86_400 });
    t.is((await refund('OLD', 'L0', '1.00'))['fund_change'], 'Y');
    await world.post('/sim/clock', { advanceSeconds: 2 * 86_400 });
    t.is((await client.call('alipay.trade.query', { out_trade_no: 'OLD' })).content['trade_status'], 'TRADE_FINISHED');
    t.like(await refund('OLD', 'L1', '1.00'), { sub_code: 'ACQ.TRADE_HAS_FINISHED' });
  },
);
