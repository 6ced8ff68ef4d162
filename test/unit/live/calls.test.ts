import test from 'ava';
import { boundOf, createCallMeter, quantileOf } from '../../../server/live/process.ts';

function meterAt(at: Date) {
  let elapsed = 0;
  const meter = createCallMeter(
    () => at,
    () => elapsed,
  );
  const of = (payWay: string) => meter.read().channels.find((one) => one.payWay === payWay)!;
  return { meter, of, pass: (ms: number) => void (elapsed += ms) };
}

test('calls are counted per channel for one minute and expire slot by slot', (t) => {
  const { meter, of, pass } = meterAt(new Date('2030-01-31T08:00:00Z'));
  for (let second = 0; second < 90; second++) {
    meter.onChannelCall({ payWay: 'alipay', isUnknown: second % 10 === 0, ms: 100 });
    pass(1000);
  }
  const { seconds } = meter.read();
  // The minute has eleven whole slots and the current one, which has just begun.
  t.is(seconds, 55);
  t.is(of('alipay').calls, 55);
  t.is(of('alipay').unknown, 5);
  t.like(of('wechat'), { calls: 0, unknown: 0, answeredAt: null, noticedAt: null });
  pass(60_000);
  t.is(of('alipay').calls, 0);
  t.is(of('alipay').answeredAt, '2030-01-31T08:00:00.000Z');
});

test('a new process reports only the seconds since its start', (t) => {
  const { meter, pass } = meterAt(new Date());
  t.is(meter.read().seconds, 1);
  pass(3000);
  t.is(meter.read().seconds, 3);
});

test('neither a call with an unknown outcome nor a notification counts as a response', (t) => {
  const { meter, of } = meterAt(new Date('2030-01-31T08:00:00Z'));
  meter.onChannelCall({ payWay: 'paypal', isUnknown: true, ms: 6000 });
  meter.noticed('wechat');
  t.like(of('paypal'), { calls: 1, unknown: 1, answeredAt: null });
  t.like(of('wechat'), { calls: 0, answeredAt: null, noticedAt: '2030-01-31T08:00:00.000Z' });
});

test('merged quantiles of several processes are accurate to a tenth', (t) => {
  const spreads = [1, 2, 3].map((process) => {
    const { meter, of } = meterAt(new Date());
    for (let at = 1; at <= 100; at++)
      meter.onChannelCall({ payWay: 'alipay', isUnknown: false, ms: at * 10 * process });
    return of('alipay').spread;
  });
  for (const [share, exact] of [
    [0.5, 818],
    [0.99, 2910],
    [1, 3000],
  ] as const) {
    const found = quantileOf(spreads, share)!;
    t.true(found >= exact * 0.95 && found <= exact * 1.15, `${share}: ${found}`);
  }
  t.is(quantileOf([], 0.99), null);
  t.is(quantileOf([[[0, 100]]], 0.99), 1);
});

test('the shortest and the longest calls are counted', (t) => {
  const { meter, of } = meterAt(new Date());
  for (const ms of [0, 0.2, 1, 60_000, 3_600_000]) meter.onChannelCall({ payWay: 'alipay', isUnknown: false, ms });
  t.is(
    of('alipay').spread.reduce((sum, [, calls]) => sum + calls, 0),
    5,
  );
  t.true(boundOf(of('alipay').spread.at(-1)![0]) > 50_000);
});
