import test from 'ava';
import { askAlipay, openDesk, reportPath, type Desk } from './desk.ts';

let desk: Desk;
test.before(async () => {
  desk = await openDesk();
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
    await desk.make(payWay, `${payWay}1`);
    await desk.condition('real-hours', payWay);
  }
});
test.after.always(() => desk?.close());

/** The responses for today's bill by hours after noon. */
const TOLD = [
  { hours: 0, alipay: 'isv.invalid_arguments', wechat: 'STATEMENT_CREATING', paypal: 0 },
  { hours: 4, alipay: 'isv.invalid_arguments', wechat: 'STATEMENT_CREATING', paypal: 1 },
  { hours: 20.9, alipay: 'isp.bill_not_exist', wechat: 'STATEMENT_CREATING', paypal: 1 },
  { hours: 21.1, alipay: undefined, wechat: 'STATEMENT_CREATING', paypal: 1 },
  { hours: 22.1, alipay: undefined, wechat: '', paypal: 1 },
] as const;

test.serial("real-hours: bills exist at nine and ten of the next day, PayPal's rows after three hours", async (t) => {
  let gone = 0;
  for (const { hours, alipay, wechat, paypal } of TOLD) {
    await desk.world.post('/sim/clock', { advanceSeconds: (hours - gone) * 3600 });
    gone = hours;
    t.is((await askAlipay(desk.alipay, desk.day)).content['sub_code'], alipay, `Alipay after ${hours} h`);
    t.is((await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`)).code, wechat, `WeChat Pay after ${hours} h`);
    t.is((await desk.paypal('GET', reportPath(desk.day))).body['total_items'], paypal, `PayPal after ${hours} h`);
  }
  await desk.world.post('/sim/clock', { advanceSeconds: 3 * 86_400 });
  await desk.make('wechat', 'wechat2', false);
  const { date, number } = await desk.plant('order_not_ours', 'wechat', { date: desk.day });
  t.is(date, desk.day);
  t.true((await desk.rows('wechat')).some((row) => row['微信订单号'] === number));
});

test.serial('a planted difference for a past day has a date of that day', async (t) => {
  await desk.plant('refund_unknown_to_us', 'wechat', { date: desk.day, orderNo: 'wechat1' });
  const refunds = (await desk.rows('wechat')).filter((row) => row['交易状态'] === 'REFUND');
  t.is(refunds.length, 1);
  t.true(refunds[0]!['交易时间']!.startsWith(desk.day));
});

test.serial('WeChat Pay has no bill after three months', async (t) => {
  await desk.world.post('/sim/clock', { advanceSeconds: 100 * 86_400 });
  t.is((await desk.wechat(`/v3/bill/tradebill?bill_date=${desk.day}`)).code, 'INVALID_REQUEST');
  t.is((await askAlipay(desk.alipay, desk.day)).content['code'], '10000');
});
