import test from 'ava';
import { payerPage, type Place, unknownOrderPage } from '../../../server/pages/payer-page.ts';
import { LANGUAGES } from '../../../server/pages/language.ts';
import { PAYER_WORDS_EN } from '../../../server/pages/payer-words.ts';
import type { PayerOrder, PayerState } from '../../../server/payments/orders/payer.ts';

const address = '/pay/P20300131080000ABCDEFGHJK';
const en = { language: 'en', address } as const;
const zh = { language: 'zh', address } as const;
const STATES = Object.keys(PAYER_WORDS_EN.states) as PayerState[];
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
    merchant: 'Tea & Co',
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

test('every state at every place gives a complete page without inline code', async (t) => {
  for (const language of LANGUAGES)
    for (const state of STATES) {
      for (const place of ['pay', 'returned', 'cancelled'] satisfies Place[]) {
        const html = await payerPage(order({ state, returnUrl: 'https://shop.example/' }), place, {
          language,
          address,
        });
        t.regex(html, /<h1>[^<]+<\/h1>/, state);
        t.notRegex(html, /\{channel\}|undefined|null|<style|<script>|\sstyle=|\son\w+=/, state);
      }
    }
});

test('merchant text is isolated and loses bidi and invisible marks, and Arabic and Hebrew text is kept', async (t) => {
  const shown = async (text: string) => {
    const html = await payerPage(order({ subject: text, merchant: text }), 'pay', en);
    t.regex(html, /<p class="amount">¥12\.50 <small>CNY<\/small><\/p>/);
    const found = [...html.matchAll(/<bdi>(.*?)<\/bdi>/g)].map(([, inside]) => inside);
    t.is(found.length, 2, 'subject and merchant');
    t.is(new Set(found).size, 1);
    return found[0];
  };
  t.is(await shown('\u202E00.1 YNC\u202C \u2066\u2069tea'), '00.1 YNC tea');
  t.is(await shown('pay\u200Bpal\uFEFF\u2060\u00AD'), 'paypal');
  for (const text of ['קפה\u200F 2', 'شاي\u061C (2)', 'می\u200Cخواهم', '👩\u200D🍳 dinner'])
    t.is(await shown(text), text);
  t.notRegex(
    await payerPage(order({ merchant: '\u202Etea' }), 'pay', en),
    /\u202E/,
    'not in the sign of the merchant either',
  );
});

test('only a state that can still change is polled', async (t) => {
  for (const state of STATES) {
    const html = await payerPage(order({ state }), 'pay', en);
    t.is(/data-poll/.test(html), !ENDED.includes(state), state);
    t.is(/http-equiv="refresh"/.test(html), !ENDED.includes(state), state);
    t.is(/class="qr"/.test(html), state === 'waiting' || state === 'declined', state);
  }
});

test('a paid order continues to the shop automatically, other orders have a link', async (t) => {
  const returnUrl = 'https://shop.example/done?cart=1';
  const paid = await payerPage(order({ state: 'paid', status: 'paid', returnUrl }), 'returned', en);
  t.regex(paid, /data-continue="5"/);
  t.regex(paid, /content="5; url=https:\/\/shop\.example\/done\?cart=1&#38;orderNo=P\w+&#38;status=paid"/);
  const closed = await payerPage(order({ state: 'closed', status: 'closed', returnUrl }), 'pay', en);
  t.notRegex(closed, /data-continue|http-equiv/);
  t.regex(closed, /status=closed">Back to the shop/);
});

test('addresses other than http and https are not linked', async (t) => {
  for (const address of ['javascript:alert(1)', 'data:text/html,x', 'weixin://pay', '//shop.example', 'shop', '']) {
    const changes = { returnUrl: address, payment: { type: 'redirect', url: address } as const };
    const html = await payerPage(order(changes), 'pay', en);
    t.notRegex(html, /href="(?!\/pay\/|data:,")/, address);
    t.regex(html, /in the app where you started it/);
  }
});

test('merchant text is escaped', async (t) => {
  const subject = `"><img src=x onerror=alert(1)>'`;
  const html = await payerPage(order({ subject, returnUrl: 'https://shop.example/?a="><b>' }), 'pay', en);
  t.notRegex(html, /<img src=x|<b>|"><b>/);
});

test('each kind of credential has its own way to pay', async (t) => {
  const native = order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://wxpay/bizpayurl?pr=x' } });
  const html = await payerPage(native, 'pay', en);
  t.regex(html, /class="qr"/);
  t.notRegex(html, /Open WeChat/);
  const url = 'https://www.paypal.example/checkoutnow?token=1&x=2';
  const redirect = await payerPage(order({ payWay: 'paypal', payment: { type: 'redirect', url } }), 'pay', en);
  t.regex(redirect, /href="https:\/\/www\.paypal\.example\/checkoutnow\?token=1&#38;x=2">Pay with PayPal/);
  const app = await payerPage(order({ payment: { type: 'app', params: { orderString: 'secret' } } }), 'pay', en);
  t.regex(app, /in the app where you started it/);
  t.notRegex(app, /secret/);
});

test('the remaining time is shown in words for browsers without scripts', async (t) => {
  for (const [seconds, words] of [
    [59, 'less than a minute'],
    [60, '1 min'],
    [7199, '1 h 59 min'],
    [400_000, '4 days'],
  ] as const)
    t.true((await payerPage(order({ secondsLeft: seconds }), 'pay', en)).includes(`>${words}</time>`), words);
});

test('sandbox and simulator payments are marked as no real money', async (t) => {
  t.notRegex(await payerPage(order(), 'pay', en), /no real money/);
  t.regex(await payerPage(order({ mode: 'simulator' }), 'pay', en), /Simulator: no real money/);
  t.regex(await payerPage(order({ mode: 'sandbox' }), 'pay', en), /Sandbox: no real money/);
});

test('the page for an unknown order shows no data', (t) => {
  t.notRegex(unknownOrderPage(en), /data-poll|refresh|undefined/);
});

test('a payer reaches WeChat Pay from this origin through a link that does not expire', async (t) => {
  const payment = { type: 'redirect', url: 'https://wx.tenpay.example/checkmweb?prepay_id=1' } as const;
  const brief = await payerPage(order({ payWay: 'wechat', payment, isBrief: true }), 'pay', en);
  t.regex(brief, /<a class="button go" href="\/pay\/P\w+\/open\?lang=en">Pay with WeChat Pay<\/a>/);
  t.notRegex(brief, /tenpay/);
  const lasting = await payerPage(order({ payWay: 'wechat', payment }), 'pay', en);
  t.regex(lasting, /<a class="button go" href="https:\/\/wx\.tenpay\.example\/checkmweb\?prepay_id=1">/);
  const other = await payerPage(order({ payWay: 'paypal', payment }), 'pay', en);
  t.regex(other, /<a class="button go" rel="noreferrer" href="https:/);
});

test("instructions name the app as on the payer's phone: WeChat, not WeChat Pay", async (t) => {
  const qr = await payerPage(order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://x' } }), 'pay', en);
  t.regex(qr, /Scan this code with the WeChat app\./);
  const code = await payerPage(order({ payWay: 'wechat', payment: { type: 'code' } }), 'pay', en);
  t.regex(code, /confirm the payment in the WeChat app on your phone/);
  t.regex(await payerPage(order(), 'pay', en), /with the Alipay app, or open it on this device/);
});

test('a page is in one language, and all its links keep the language', async (t) => {
  const payment = { type: 'redirect', url: 'https://wx.tenpay.example/checkmweb?prepay_id=1' } as const;
  const others = ['alipay', 'paypal'] as const;
  for (const shown of [en, zh]) {
    const pages = [
      await payerPage(order({ payWay: 'wechat', payment, isBrief: true }), 'pay', shown, { others }),
      await payerPage(order(), 'pay', shown, { others: ['wechat'], wanted: 'wechat' }),
      await payerPage(order(), 'cancelled', shown),
    ];
    for (const html of pages) {
      t.regex(html, shown === en ? /^<!doctype html>\n<html lang="en">/ : /^<!doctype html>\n<html lang="zh-CN">/);
      const own = [...html.matchAll(/(?:href|action)="(\/pay\/P[^"]*)"/g)].map(([, link]) => link ?? '');
      const inOthers = own.filter((link) => !link.endsWith(`lang=${shown.language}`));
      t.deepEqual(inOthers, [`${address}?lang=${shown === en ? 'zh' : 'en'}`], 'the switch alone leads elsewhere');
    }
  }
  const chinese = await payerPage(order({ payWay: 'paypal', payment }), 'pay', zh, { others: ['wechat'] });
  t.regex(chinese, /<h1>等待支付<\/h1>[^]*使用 PayPal 支付[^]*改用微信支付<\/button>/);
  t.notRegex(chinese.replace(/<nav[^]*<\/nav>/, ''), />[^<]*\b(Pay with|Order|Time left|payment)\b[^<]*</);
});

test('the language switch keeps the parameters of the address', async (t) => {
  const shown = { language: 'en', address: '/return/paypal/P1?cancelled=1' } as const;
  const html = await payerPage(order(), 'cancelled', shown);
  t.true(html.includes('href="/return/paypal/P1?cancelled=1&#38;lang=zh"'), html);
  t.regex(html, /<span aria-current="true" lang="en">English<\/span>/);
});

test('the merchant is shown with its initial, and an order without a merchant name shows none', async (t) => {
  t.regex(await payerPage(order(), 'pay', en), /<span class="logo" aria-hidden="true">T<\/span><bdi>Tea &#38; Co/);
  t.regex(
    await payerPage(order({ merchant: '老王茶馆' }), 'pay', zh),
    /<span class="logo" aria-hidden="true">老<\/span>/,
  );
  t.regex(await payerPage(order({ merchant: '👩‍🍳 kitchen' }), 'pay', en), /aria-hidden="true">👩‍🍳<\/span>/u);
  t.notRegex(await payerPage(order({ merchant: null }), 'pay', en), /class="logo"/);
});

test('amounts have the sign and grouping of the language and their currency code', async (t) => {
  const amountIn = async (changes: Partial<PayerOrder>, shown: typeof en | typeof zh) =>
    /<p class="amount">(.*?)<\/p>/.exec(await payerPage(order(changes), 'pay', shown))?.[1];
  t.is(await amountIn({ amount: '1234567.50' }, en), '¥1,234,567.50 <small>CNY</small>');
  t.is(await amountIn({ amount: '1234567.50' }, zh), '¥1,234,567.50 <small>CNY</small>');
  t.is(await amountIn({ amount: '8.00', currency: 'USD', payWay: 'paypal' }, zh), '$8.00 <small>USD</small>');
  t.is(await amountIn({ amount: '1200', currency: 'JPY', payWay: 'paypal' }, en), '¥1,200 <small>JPY</small>');
  t.is(await amountIn({ amount: '99999999999999.99' }, en), '¥99,999,999,999,999.99 <small>CNY</small>');
});

test('a declined payment shows the decline and the next step, and can still be paid', async (t) => {
  const payment = { type: 'redirect', url: 'https://www.paypal.example/checkoutnow?token=1' } as const;
  const html = await payerPage(order({ state: 'declined', payWay: 'paypal', payment }), 'pay', en);
  t.regex(
    html,
    /<h1>Payment declined<\/h1>[^]*PayPal declined[^]*have not been charged[^]*Choose another[^]*Pay with PayPal/,
  );
  const chinese = await payerPage(order({ state: 'declined', payWay: 'paypal', payment }), 'pay', zh);
  t.regex(chinese, /<h1>支付被拒绝<\/h1>[^]*PayPal 拒绝了[^]*没有被扣款[^]*使用 PayPal 支付/);
  for (const state of ['failed', 'refused'] as const)
    t.regex(await payerPage(order({ state }), 'pay', en), /<h1>Payment declined<\/h1>[^]*return to the shop/);
});

test('a WeChat code has instructions for the phone that shows it, and a code that opens an app has none', async (t) => {
  const native = order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://wxpay/bizpayurl?pr=x' } });
  t.regex(
    await payerPage(native, 'pay', en),
    /class="on-phone">On this phone\?[^<]*save the picture[^<]*another phone/,
  );
  t.regex(await payerPage(native, 'pay', zh), /class="on-phone">正在用这部手机？[^<]*保存图片[^<]*扫一扫/);
  t.notRegex(await payerPage(order(), 'pay', en), /on-phone/);
});

test('a code is an image that a phone can save, with an alternative text', async (t) => {
  t.regex(
    await payerPage(order(), 'pay', en),
    /<img class="qr" alt="QR code to pay with Alipay" src="data:image\/png;base64,/,
  );
});
