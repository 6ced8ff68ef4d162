import test from 'ava';
import type { PayWay } from '../../../../server/payments/channel.ts';
import { isOurNumber } from '../../../../server/payments/numbers.ts';
import { CONDITIONS, PLANTS } from '../../../../server/simulator/bills/book.ts';
import { CHANNEL_SIMULATORS } from '../../../../server/simulator/simulator.ts';
import { call, configOf, nativeOrder } from '../wechat/merchant.ts';
import { openDesk, type Desk, type Row } from './desk.ts';

let desk: Desk;
test.before(async () => {
  desk = await openDesk();
  for (const payWay of WAYS) {
    for (const number of ['PAID1', 'PAID2', 'PAID3', 'PAID4']) await desk.make(payWay, `${payWay}${number}`);
    await desk.refund(payWay, `${payWay}PAID1`);
    await desk.make(payWay, `${payWay}OPEN1`, false);
  }
});
test.after.always(() => desk?.close());
test.afterEach.always(async () => {
  await fetch(`${desk.world.url}/sim/bills`, { method: 'DELETE', headers: { 'content-type': 'application/json' } });
});

const WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Reads the same facts from a row of each channel. */
const SAID: Readonly<
  Record<PayWay, (row: Row) => { orderNo: string; number: string; amount: string; currency: string; fee: string }>
> = {
  alipay: (row) => ({
    orderNo: row['商户订单号']!,
    number: row['业务类型'] === '退款' ? row['退款批次号/请求号']! : row['支付宝交易号']!,
    amount: row['订单金额（元）']!,
    currency: 'CNY',
    fee: row['服务费（元）']!,
  }),
  wechat: (row) => ({
    orderNo: row['商户订单号']!,
    number: row['交易状态'] === 'REFUND' ? row['微信退款单号']! : row['微信订单号']!,
    amount: row['交易状态'] === 'REFUND' ? `-${row['申请退款金额']}` : row['订单金额']!,
    currency: row['货币种类']!,
    fee: `${-Number(row['手续费'])}`,
  }),
  paypal: (row) => {
    const money = row['transaction_amount'] as unknown as { value: string; currency_code: string };
    const fee = row['fee_amount'] as unknown as { value: string } | undefined;
    const orderNo = row['custom_field'] ?? row['invoice_id']!;
    const number = row['transaction_id']!;
    return { orderNo, number, amount: money.value, currency: money.currency_code, fee: fee?.value ?? '0' };
  },
};

async function said(payWay: PayWay) {
  return (await desk.rows(payWay)).map((row) => SAID[payWay](row));
}

type Said = Awaited<ReturnType<typeof said>>;

/** The effect of each difference on the rows of an order of 12.30 that may have 2.30 refunded. */
const CHANGED: Readonly<Record<string, (before: Said[0] | undefined) => Partial<Said[0]> | 'gone' | 'twice'>> = {
  paid_missing_at_channel: () => 'gone',
  amount_differs: () => ({ amount: '12.31' }),
  currency_differs: (before) => ({ currency: before?.currency === 'USD' ? 'EUR' : 'USD' }),
  fee_differs: (before) => ({ fee: (Number(before?.fee) - 0.05).toFixed(2) }),
  line_twice: () => 'twice',
  refund_missing_at_channel: () => 'gone',
  refund_amount_differs: () => ({ amount: '-2.31' }),
};

for (const payWay of WAYS) {
  for (const [kind, changeOf] of Object.entries(CHANGED)) {
    if (kind === 'currency_differs' && payWay === 'alipay') continue;
    test.serial(`${payWay}: ${kind} changes only the bill`, async (t) => {
      const orderNo = `${payWay}PAID1`;
      const before = await said(payWay);
      const isRefund = kind.startsWith('refund');
      const index = before.findIndex((row) => row.orderNo === orderNo && row.amount.startsWith('-') === isRefund);
      const ledger = await desk.world.ledger(orderNo);
      t.like(await desk.plant(kind, payWay, { orderNo }), { kind, payWay, orderNo, date: desk.day });
      const change = changeOf(before[index]);
      const wanted = before.flatMap((row, at) =>
        at !== index ? [row] : change === 'gone' ? [] : change === 'twice' ? [row, row] : [{ ...row, ...change }],
      );
      t.deepEqual((await said(payWay)).map(normal), wanted.map(normal));
      t.deepEqual(await desk.world.ledger(orderNo), ledger);
      t.like(await desk.plant(kind, payWay, { orderNo }), { error: { code: 'nothing_fits' } });
    });
  }

  for (const [kind, isOurs] of [
    ['order_not_ours', false],
    ['order_unknown_here', true],
  ] as const)
    test.serial(`${payWay}: ${kind} is a payment that is not in the ledger`, async (t) => {
      const before = await said(payWay);
      const { orderNo, number } = await desk.plant(kind, payWay);
      t.is(isOurNumber(String(orderNo)), isOurs);
      const after = await said(payWay);
      t.is(after.length, before.length + 1);
      t.true(after.some((row) => row.orderNo === orderNo && row.number === number));
      t.deepEqual((await desk.world.ledger(orderNo)).entries, []);
    });

  test.serial(`${payWay}: paid_unknown_to_us is a payment without a notification`, async (t) => {
    const orderNo = `${payWay}OPEN1`;
    t.deepEqual(await desk.plant('paid_unknown_to_us', payWay), {
      ...(await planted(payWay)),
      kind: 'paid_unknown_to_us',
      orderNo,
    });
    t.like((await desk.world.ledger(orderNo)).orders[0], { paid: 1230, payments: 1, state: 'paid' });
    await desk.world.post('/sim/clock', { advanceSeconds: 1 });
    t.deepEqual(await desk.world.deliveries(orderNo), []);
    t.true((await said(payWay)).some((row) => row.orderNo === orderNo && row.amount === '12.30'));
    t.like(await desk.plant('paid_unknown_to_us', payWay), { error: { code: 'nothing_fits' } });
  });

  test.serial(`${payWay}: refund_unknown_to_us is a portal refund without a notification`, async (t) => {
    const orderNo = `${payWay}PAID2`;
    await desk.plant('refund_unknown_to_us', payWay, { orderNo });
    await desk.world.post('/sim/clock', { advanceSeconds: 1 });
    const told = await desk.world.deliveries(orderNo);
    t.deepEqual(
      told.filter(({ event }) => /refund/i.test(event)),
      [],
    );
    t.like((await desk.world.ledger(orderNo)).orders[0], { refunded: 615, refunds: 1 });
    t.true((await said(payWay)).some((row) => row.orderNo === orderNo && row.amount === '-6.15'));
  });

  test.serial(`${payWay}: duplicate_payment has the same order number and another channel number`, async (t) => {
    const orderNo = `${payWay}PAID3`;
    await desk.plant('duplicate_payment', payWay, { orderNo });
    const rows = (await said(payWay)).filter((row) => row.orderNo === orderNo);
    t.is(rows.length, 2);
    t.is(new Set(rows.map(({ number }) => number)).size, 2);
    t.deepEqual(
      rows.map(({ amount }) => amount),
      ['12.30', '12.30'],
    );
  });

  test.serial(`${payWay}: a difference that fits no trade of the day is refused`, async (t) => {
    for (const kind of ['amount_differs', 'refund_missing_at_channel', 'duplicate_payment'])
      t.like(await desk.plant(kind, payWay, { date: '2021-01-31' }), { error: { code: 'nothing_fits' } }, kind);
    t.like(await desk.plant('fee_differs', payWay, { orderNo: 'NOBODY' }), { error: { code: 'no_such_order' } });
    t.like(await desk.plant('fee_differs', payWay, { date: '2026-02-30' }), { error: { code: 'date_invalid' } });
    t.like(await desk.plant('fee_differs', payWay, { account: 'none' }), { error: { code: 'no_such_account' } });
  });
}

test.serial('paypal: dispute_unknown_to_us takes money that only the dispute list shows', async (t) => {
  const orderNo = 'paypalPAID4';
  const { number } = await desk.plant('dispute_unknown_to_us', 'paypal', { orderNo });
  await desk.world.post('/sim/clock', { advanceSeconds: 1 });
  const told = (await desk.world.deliveries(orderNo)).map(({ event }) => event);
  t.deepEqual(
    told.filter((event) => /DISPUTE|REFUND/.test(event)),
    [],
  );
  const linesOf = async () => {
    const rows = (await desk.rows('paypal')).filter((row) => row['custom_field'] === orderNo);
    return rows.map((row) => [
      row['transaction_event_code'],
      row['transaction_status'],
      (row['transaction_amount'] as unknown as { value: string }).value,
    ]);
  };
  const taken = [
    ['T0006', 'S', '12.30'],
    ['T1201', 'S', '-12.30'],
  ];
  t.deepEqual(await linesOf(), taken);
  t.true((await desk.rows('paypal')).some((row) => row['transaction_id'] === number));
  const { entries } = await desk.world.ledger(orderNo);
  const capture = entries.find(({ type }) => type === 'captured')?.number;
  const list = await desk.paypal('GET', `/v1/customer/disputes?disputed_transaction_id=${capture}&page_size=50`);
  t.like(list.body['items'], [{ status: 'RESOLVED' }]);
  t.like(await desk.plant('dispute_unknown_to_us', 'paypal', { orderNo }), { error: { code: 'nothing_fits' } });
  // A dispute won afterwards keeps the first line and adds a line for the return.
  await desk.world.post('/sim/dispute', { orderNo, act: 'win' });
  t.deepEqual(await linesOf(), [...taken, ['T1202', 'S', '12.30']]);
});

test.serial('only PayPal bills have dispute lines', async (t) => {
  for (const payWay of ['alipay', 'wechat'] as const)
    t.like(await desk.plant('dispute_unknown_to_us', payWay), { error: { code: 'plant_unknown_here' } });
});

test.serial('a currency difference is refused for Alipay, which has no currency column', async (t) => {
  t.like(await desk.plant('currency_differs', 'alipay'), { error: { code: 'plant_unknown_here' } });
});

test.serial('an expired order is paid only if it is named', async (t) => {
  const merchant = await configOf(desk.world, 'over');
  const orderNo = 'wechatOVER1';
  await call(
    desk.world,
    merchant,
    'POST',
    '/v3/pay/transactions/native',
    nativeOrder(merchant, { out_trade_no: orderNo }),
  );
  await desk.world.post('/sim/expire', { orderNo });
  const over = { account: 'over' };
  t.like(await desk.plant('paid_unknown_to_us', 'wechat', over), { error: { code: 'nothing_fits' } });
  t.like(await desk.plant('paid_unknown_to_us', 'wechat', { ...over, orderNo }), { orderNo });
});

test.serial('planted differences are listed, and cleared individually or all at once', async (t) => {
  const first = await desk.plant('amount_differs', 'wechat');
  const second = await desk.plant('amount_differs', 'wechat');
  const third = await desk.condition('late', 'alipay', { date: desk.day });
  t.not(first['orderNo'], second['orderNo']);
  t.deepEqual(await desk.world.get('/sim/bills?payWay=wechat'), { plants: [first, second], conditions: [] });
  await fetch(`${desk.world.url}/sim/bills/${first['id']}`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
  });
  const { on: _, ...late } = third;
  t.deepEqual(await desk.world.get('/sim/bills'), { plants: [second], conditions: [late] });
});

function normal({ fee, ...row }: Said[0]): object {
  return { ...row, fee: Number(fee).toFixed(2) };
}

async function planted(payWay: PayWay): Promise<object> {
  const { plants } = await desk.world.get<{ plants: object[] }>(`/sim/bills?payWay=${payWay}`);
  return plants.at(-1) ?? {};
}

test.serial('the omissions of each channel are existing conditions and differences', (t) => {
  const known: readonly string[] = [...CONDITIONS, ...PLANTS];
  for (const { payWay, billRules } of CHANNEL_SIMULATORS)
    for (const name of billRules.lacks) t.true(known.includes(name), `${payWay} ${name}`);
});
