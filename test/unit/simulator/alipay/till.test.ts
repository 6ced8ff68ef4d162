import test from 'ava';
import { shownCode } from '../../channels/alipay/shown-code.ts';
import { startWorld, type World } from '../world.ts';
import { clientFor, order, type Client } from './client.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

const till = (orderNo: string, auth_code: string) => ({ ...order(orderNo), scene: 'bar_code', auth_code });
const pay = async (orderNo: string, code: string) =>
  (await client.call('alipay.trade.pay', till(orderNo, code))).content;
const cancel = async (orderNo: string) => (await client.call('alipay.trade.cancel', { out_trade_no: orderNo })).content;
const status = async (orderNo: string) =>
  (await client.call('alipay.trade.query', { out_trade_no: orderNo })).content['trade_status'];

test.serial('a code pays immediately, only once and for one order', async (t) => {
  const code = shownCode('at-once');
  t.like(await pay('TILL1', code), { code: '10000', total_amount: '12.30', out_trade_no: 'TILL1' });
  t.is(await status('TILL1'), 'TRADE_SUCCESS');
  t.is((await pay('TILL1', code))['sub_code'], 'ACQ.TRADE_HAS_SUCCESS');
  t.is((await pay('TILL2', code))['sub_code'], 'ACQ.PAYMENT_AUTH_CODE_INVALID');
  t.like((await world.ledger('TILL1')).orders[0], { paid: 1230, payments: 1 });
  t.deepEqual((await world.ledger('TILL2')).orders, []);
});

test.serial('a trade waits while the payer enters the password', async (t) => {
  const code = shownCode('password', 'asks-password');
  t.like(await pay('TILL3', code), { code: '10003', out_trade_no: 'TILL3' });
  t.is(await status('TILL3'), 'WAIT_BUYER_PAY');
  t.like(await pay('TILL3', code), { code: '10003' });
  await world.post('/sim/pay', { orderNo: 'TILL3' });
  t.is(await status('TILL3'), 'TRADE_SUCCESS');
});

for (const [payer, subCode] of [
  ['has-no-money', 'ACQ.BUYER_BALANCE_NOT_ENOUGH'],
  ['showed-it-long-ago', 'ACQ.PAYMENT_AUTH_CODE_INVALID'],
] as const) {
  test.serial(`a payer who ${payer} pays nothing, and no trade remains`, async (t) => {
    t.is((await pay(`TILL_${payer.length}`, shownCode(payer, payer)))['sub_code'], subCode);
    t.is(await status(`TILL_${payer.length}`), undefined);
  });
}

test.serial('an invalid code or till is refused', async (t) => {
  for (const change of [
    { auth_code: '12345678901234567' },
    { scene: 'wave_code' },
    { product_code: 'QR_CODE_OFFLINE' },
  ]) {
    const { content } = await client.call('alipay.trade.pay', { ...till('TILL4', shownCode('four')), ...change });
    t.is(content['sub_code'], 'ACQ.INVALID_PARAMETER', JSON.stringify(change));
  }
});

test.serial('a cancel closes an unpaid trade, refunds a paid one, and states the action', async (t) => {
  t.deepEqual([(await cancel('TILL5'))['code'], (await cancel('TILL5'))['action']], ['10000', undefined]);
  await pay('TILL6', shownCode('six', 'asks-password'));
  t.like(await cancel('TILL6'), { code: '10000', action: 'close', retry_flag: 'N' });
  t.is(await status('TILL6'), 'TRADE_CLOSED');
  await pay('TILL7', shownCode('seven'));
  t.like(await cancel('TILL7'), { action: 'refund', out_trade_no: 'TILL7' });
  t.like(await cancel('TILL7'), { action: 'close' });
  t.like((await world.ledger('TILL7')).orders[0], { paid: 1230, refunded: 1230, refunds: 1 });
});

test.serial('a merchant cannot cancel the trade of another merchant of the same app', async (t) => {
  const { alipay } = await world.post<{ alipay: { fields: Record<string, string> } }>('/sim/rotate', {
    payWay: 'alipay',
    what: 'merchant',
  });
  const first = alipay.fields['appAuthToken']!;
  await world.post('/sim/rotate', { payWay: 'alipay', what: 'merchant' });
  const as = (app_auth_token: string) => ({ app_auth_token });
  const placed = await client.call('alipay.trade.pay', till('TILL_OWN', shownCode('own')), as(first));
  t.is(placed.content['code'], '10000');
  const { alipay: second } = await world.config('default');
  const other = as(second!.fields['appAuthToken']!);
  const foreign = await client.call('alipay.trade.cancel', { out_trade_no: 'TILL_OWN' }, other);
  t.like(foreign.content, { code: '10000' });
  t.is(foreign.content['action'], undefined, 'as for a trade that does not exist');
  t.like((await world.ledger('TILL_OWN')).orders[0], { paid: 1230, refunded: 0 });
  const own = await client.call('alipay.trade.cancel', { out_trade_no: 'TILL_OWN' }, as(first));
  t.is(own.content['action'], 'refund');
});

// fzlee/alipay@fd838d5, api_alipay_trade_cancel: by either number.
test.serial("a payment can also be cancelled by Alipay's trade number", async (t) => {
  const authCode = shownCode('TILL7B');
  const paid = await client.call('alipay.trade.pay', { ...order('TILL7B'), scene: 'bar_code', auth_code: authCode });
  const numbers = { out_trade_no: 'TILL7B', trade_no: paid.content['trade_no'] };
  const { content } = await client.call('alipay.trade.cancel', { trade_no: numbers.trade_no });
  t.like(content, { ...numbers, action: 'refund' });
  const neither = await client.call('alipay.trade.cancel', {});
  t.is(neither.content['sub_code'], 'ACQ.INVALID_PARAMETER');
});

test.serial('a payment older than a day cannot be cancelled', async (t) => {
  await pay('TILL8', shownCode('eight'));
  await world.post('/sim/clock', { advanceSeconds: 86_401 });
  t.is((await cancel('TILL8'))['sub_code'], 'ACQ.TRADE_CANCEL_TIME_OUT');
});

test.serial('a mini program create makes a trade that can immediately be paid, closed and queried', async (t) => {
  const mini = {
    ...order('MINI'),
    product_code: 'JSAPI_PAY',
    op_app_id: '2021000000000005',
    buyer_open_id: 'a-user',
  };
  const { content } = await client.call('alipay.trade.create', mini);
  t.like(content, { code: '10000', out_trade_no: 'MINI' });
  t.regex(content['trade_no'] ?? '', /^\d{28}$/);
  t.is(await status('MINI'), 'WAIT_BUYER_PAY');
  const other = await client.call('alipay.trade.create', { ...mini, buyer_open_id: 'another' });
  t.is(other.content['sub_code'], 'ACQ.TRADE_BUYER_NOT_MATCH');
  for (const lacking of ['op_app_id', 'buyer_open_id', 'product_code']) {
    const { [lacking]: _, ...rest } = { ...mini, out_trade_no: 'MINI2' } as Record<string, string>;
    const refused = await client.call('alipay.trade.create', rest);
    t.is(refused.content['sub_code'], 'ACQ.INVALID_PARAMETER', lacking);
  }
});
