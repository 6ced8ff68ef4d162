import test from 'ava';
import { preferred } from '../../../../server/skillpay/schemes/mpp.ts';

const all = ['wechat', 'alipay', 'paypal'] as const;

test("payment schemes follow the client's preference, without the rejected ones", (t) => {
  const cases: [string | undefined, string[]][] = [
    [undefined, ['wechat', 'alipay', 'paypal']],
    ['alipay/charge', ['alipay']],
    ['wechat/charge;q=0.3, alipay/charge;q=0.5', ['alipay', 'wechat']],
    ['*/charge, wechat/charge;q=0', ['alipay', 'paypal']],
    ['*/*;q=0.1, paypal/*', ['paypal', 'wechat', 'alipay']],
    ['paypal/* ; q=0.5, paypal/charge;q=1.0, alipay/charge;q=0.7', ['paypal', 'alipay']],
    ['tempo/charge', ['wechat', 'alipay', 'paypal']],
    ['wechat/session', ['wechat', 'alipay', 'paypal']],
    ['wechat', ['wechat', 'alipay', 'paypal']],
    ['alipay/charge;q=2', ['wechat', 'alipay', 'paypal']],
    ['', ['wechat', 'alipay', 'paypal']],
  ];
  for (const [header, expected] of cases) t.deepEqual(preferred(header, all), expected, header);
});
