import test from 'ava';
import { payerPage, type Place, unknownOrderPage } from '../../../server/pages/payer-page.ts';
import { STATE_WORDS } from '../../../server/pages/payer-words.ts';
import type { PayerOrder, PayerState } from '../../../server/payments/payer.ts';

const assets = { style: '/pay/assets/payer.css', script: '/pay/assets/payer.js' };
const STATES = Object.keys(STATE_WORDS) as PayerState[];
const ENDED = [
  'declined',
  'refused',
  'paid',
  'partially_refunded',
  'refunded',
  'returning',
  'not_returned',
  'closed',
  'expired',
  'failed',
];

function order(changes: Partial<PayerOrder> = {}): PayerOrder {
  return {
    orderNo: 'P20300131080000ABCDEFGHJK',
    payWay: 'alipay',
    mode: 'live',
    subject: 'Two coffees',
    amount: '12.50',
    refunded: '0.00',
    currency: 'CNY',
    state: 'waiting',
    status: 'pending',
    expiresAt: new Date('2030-01-31T10:00:00Z'),
    secondsLeft: 7200,
    payment: { type: 'qr', qrCode: 'https://qr.example/x' },
    isBrief: false,
    returnUrl: null,
    ...changes,
  };
}

test('every state at every place is a whole page without inline code and without gaps', async (t) => {
  for (const state of STATES) {
    for (const place of ['pay', 'returned', 'cancelled'] satisfies Place[]) {
      const html = await payerPage(order({ state, returnUrl: 'https://shop.example/' }), place, assets);
      t.regex(html, /<h1>[^<]+<\/h1>/, state);
      t.notRegex(html, /\{channel\}|undefined|null|<style|<script>|\sstyle=|\son\w+=/, state);
    }
  }
});

test('only what can still change is looked at again', async (t) => {
  for (const state of STATES) {
    const html = await payerPage(order({ state }), 'pay', assets);
    t.is(/data-poll/.test(html), !ENDED.includes(state), state);
    t.is(/http-equiv="refresh"/.test(html), !ENDED.includes(state), state);
    t.is(/class="qr"/.test(html), state === 'waiting' || state === 'declined', state);
  }
});

test('a paid order leads on to the shop by itself, others by a link', async (t) => {
  const returnUrl = 'https://shop.example/done?cart=1';
  const paid = await payerPage(order({ state: 'paid', status: 'paid', returnUrl }), 'returned', assets);
  t.regex(paid, /data-continue="5"/);
  t.regex(paid, /content="5; url=https:\/\/shop\.example\/done\?cart=1&#38;orderNo=P\w+&#38;status=paid"/);
  const closed = await payerPage(order({ state: 'closed', status: 'closed', returnUrl }), 'pay', assets);
  t.notRegex(closed, /data-continue|http-equiv/);
  t.regex(closed, /status=closed">Back to the shop/);
});

test('addresses that are not of the web become no link', async (t) => {
  for (const address of ['javascript:alert(1)', 'data:text/html,x', 'weixin://pay', '//shop.example', 'shop', '']) {
    const changes = { returnUrl: address, payment: { type: 'redirect', url: address } as const };
    const html = await payerPage(order(changes), 'pay', assets);
    t.notRegex(html, /href="(?!\/pay\/assets|data:,")/, address);
    t.regex(html, /in the app where you started it/);
  }
});

test('text of others stays text', async (t) => {
  const subject = `"><img src=x onerror=alert(1)>'`;
  const html = await payerPage(order({ subject, returnUrl: 'https://shop.example/?a="><b>' }), 'pay', assets);
  t.notRegex(html, /<img|<b>|"><b/);
});

test('each kind of credential has its way to pay', async (t) => {
  const native = order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://wxpay/bizpayurl?pr=x' } });
  const html = await payerPage(native, 'pay', assets);
  t.regex(html, /class="qr"/);
  t.notRegex(html, /Open WeChat/);
  const url = 'https://www.paypal.example/checkoutnow?token=1&x=2';
  const redirect = await payerPage(order({ payWay: 'paypal', payment: { type: 'redirect', url } }), 'pay', assets);
  t.regex(redirect, /href="https:\/\/www\.paypal\.example\/checkoutnow\?token=1&#38;x=2">Pay with PayPal/);
  const app = await payerPage(order({ payment: { type: 'app', params: { orderString: 'secret' } } }), 'pay', assets);
  t.regex(app, /in the app where you started it/);
  t.notRegex(app, /secret/);
});

test('the time left is told in words for those without scripts', async (t) => {
  for (const [seconds, words] of [
    [59, 'less than a minute'],
    [60, '1 min'],
    [7199, '1 h 59 min'],
    [400_000, '4 days'],
  ] as const)
    t.true((await payerPage(order({ secondsLeft: seconds }), 'pay', assets)).includes(`>${words}</time>`), words);
});

test('play money says that it is', async (t) => {
  t.notRegex(await payerPage(order(), 'pay', assets), /no real money/);
  t.regex(await payerPage(order({ mode: 'simulator' }), 'pay', assets), /Simulator: no real money/);
  t.regex(await payerPage(order({ mode: 'sandbox' }), 'pay', assets), /Sandbox: no real money/);
});

test('the page for nothing tells nothing', (t) => {
  t.notRegex(unknownOrderPage(assets), /data-poll|refresh|undefined/);
});

test('a payer goes to WeChat Pay with the origin of this page, by an address that does not die', async (t) => {
  const payment = { type: 'redirect', url: 'https://wx.tenpay.example/checkmweb?prepay_id=1' } as const;
  const brief = await payerPage(order({ payWay: 'wechat', payment, isBrief: true }), 'pay', assets);
  t.regex(brief, /<a class="button go" href="\/pay\/P\w+\/open">Pay with WeChat Pay<\/a>/);
  t.notRegex(brief, /tenpay/);
  const lasting = await payerPage(order({ payWay: 'wechat', payment }), 'pay', assets);
  t.regex(lasting, /<a class="button go" href="https:\/\/wx\.tenpay\.example\/checkmweb\?prepay_id=1">/);
  const other = await payerPage(order({ payWay: 'paypal', payment }), 'pay', assets);
  t.regex(other, /<a class="button go" rel="noreferrer" href="https:/);
});

test('an app is called as it is on the phone of the payer: WeChat Pay is no app', async (t) => {
  const qr = await payerPage(order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://x' } }), 'pay', assets);
  t.regex(qr, /Scan this code with the WeChat app\./);
  const code = await payerPage(order({ payWay: 'wechat', payment: { type: 'code' } }), 'pay', assets);
  t.regex(code, /confirm the payment in the WeChat app on your phone/);
  t.regex(await payerPage(order(), 'pay', assets), /with the Alipay app, or open it on this device/);
});
