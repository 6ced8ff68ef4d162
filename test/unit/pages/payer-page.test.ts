import { runInNewContext } from 'node:vm';
import test from 'ava';
import { PAYER_SCRIPT, payerPage, type Place, unknownOrderPage } from '../../../server/pages/payer-page.ts';
import { LANGUAGES } from '../../../server/pages/language.ts';
import { PAYER_WORDS_EN } from '../../../server/pages/payer-words.ts';
import type { PayerOrder, PayerState } from '../../../server/payments/orders/payer.ts';

const address = '/pay/P20300131080000ABCDEFGHJK';
const en = { language: 'en', address } as const;
const zh = { language: 'zh', address } as const;
const STATES = Object.keys(PAYER_WORDS_EN.states) as PayerState[];
const PLACES = ['pay', 'returned', 'cancelled'] as const satisfies Place[];

const LINK = { type: 'redirect', url: 'https://www.paypal.example/checkoutnow?token=1' } as const;

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
      for (const place of PLACES) {
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

/** The tone of each page, its way to pay (code or button, or a plain link), and how it is polled. */
const SHOWN: Readonly<Record<PayerState, Readonly<Record<Place, string>>>> = {
  preparing: { pay: 'busy, quick', returned: 'busy, quick', cancelled: 'busy, quick' },
  waiting: { pay: 'busy, code, polls', returned: 'busy, link, quick', cancelled: 'quiet, button' },
  declined: { pay: 'bad, code', returned: 'bad, button', cancelled: 'bad, button' },
  confirming: { pay: 'busy, quick', returned: 'busy, quick', cancelled: 'busy, quick' },
  ending: { pay: 'busy, quick', returned: 'busy, quick', cancelled: 'busy, quick' },
  paid: { pay: 'good', returned: 'good', cancelled: 'good' },
  partially_refunded: { pay: 'good', returned: 'good', cancelled: 'good' },
  refunded: { pay: 'quiet', returned: 'quiet', cancelled: 'quiet' },
  returning: { pay: 'quiet', returned: 'quiet', cancelled: 'quiet' },
  not_returned: { pay: 'bad', returned: 'bad', cancelled: 'bad' },
  closed: { pay: 'quiet', returned: 'quiet', cancelled: 'quiet' },
  expired: { pay: 'quiet', returned: 'quiet', cancelled: 'quiet' },
  failed: { pay: 'bad', returned: 'bad', cancelled: 'bad' },
  refused: { pay: 'bad', returned: 'bad', cancelled: 'bad' },
};

function shownBy(html: string): string {
  const has = (pattern: RegExp, word: string) => (pattern.test(html) ? word : '');
  const polls = has(/ data-poll=/, has(/ data-quick=/, 'quick') || 'polls');
  return [
    /<main class="card (\w+)"/.exec(html)?.[1],
    has(/class="qr"/, 'code'),
    has(/class="button go"/, 'button'),
    has(/class="unpaid"/, 'link'),
    polls,
  ]
    .filter(Boolean)
    .join(', ');
}

test('each state at each place has its tone, its way to pay and its polls', async (t) => {
  for (const state of STATES)
    for (const place of PLACES) {
      const html = await payerPage(order({ state }), place, en);
      t.is(shownBy(html), SHOWN[state][place], `${state} ${place}`);
      t.is(/http-equiv="refresh"/.test(html), / data-poll=/.test(html), `${state} ${place}`);
      t.is(/ data-ask=/.test(html), / data-poll=/.test(html) && place === 'returned', `${state} ${place}`);
    }
});

test('a page that tells the payer not to pay has no button to pay, nor a time left to pay', async (t) => {
  const told: string[] = [];
  for (const [shown, words] of [
    [en, /do not pay/],
    [zh, /请勿重复支付|请暂勿付款/],
  ] as const)
    for (const state of STATES)
      for (const place of PLACES) {
        const html = await payerPage(order({ state, payWay: 'paypal', payment: LINK }), place, shown);
        if (!words.test(html)) continue;
        told.push(`${state} ${place}`);
        t.notRegex(html, /class="(button|qr|pay)\b|<form|id="left"/, `${state} ${place}`);
      }
  const expected = ['confirming', 'ending'].flatMap((state) => PLACES.map((place) => `${state} ${place}`));
  t.deepEqual(
    told.toSorted(),
    ['preparing returned', 'waiting returned', ...expected].flatMap((one) => [one, one]).toSorted(),
  );
});

test('a payer who came back without paying has a plain link to the page with the way to pay', async (t) => {
  const english = await payerPage(order(), 'returned', en);
  t.regex(english, /<p class="unpaid">Not paid yet\? <a href="\/pay\/P\w+\?lang=en">Pay now<\/a><\/p>/);
  const chinese = await payerPage(order(), 'returned', zh);
  t.regex(chinese, /<p class="unpaid">尚未支付？ <a href="\/pay\/P\w+\?lang=zh">继续支付<\/a><\/p>/);
});

function dataOf(html: string): Record<string, string> {
  const [head = ''] = /<main[^>]*>/.exec(html) ?? [];
  return Object.fromEntries(
    [...head.matchAll(/ data-(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

/** Runs the script of a page whose state has changed; returns the address that it loads, and whether it shows what came. */
async function changeOf(html: string, fresh: string): Promise<[address: string, isShown: boolean]> {
  const addresses: string[] = [];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const main = { dataset: dataOf(html), replaceWith: () => resolve(true) };
  runInNewContext(PAYER_SCRIPT, {
    addEventListener: () => {},
    clearTimeout: () => {},
    document: {
      hidden: false,
      querySelector: () => main,
      getElementById: () => null,
      addEventListener: () => {},
      adoptNode: (node: object) => node,
    },
    DOMParser: class {
      parseFromString = () => ({ title: '', querySelector: () => ({ dataset: dataOf(fresh) }) });
    },
    fetch: (address: string) => {
      addresses.push(address);
      // The second poll comes after the first answer was used, and ends the script.
      if (addresses.length > 2) {
        resolve(false);
        return new Promise(() => {});
      }
      const json = () => Promise.resolve({ data: { state: 'closed' } });
      return Promise.resolve({ ok: true, json, text: () => Promise.resolve(fresh) });
    },
    location: { href: 'http://127.0.0.1/?token=t' },
    performance: { now: () => 0 },
    setInterval: () => {},
    setTimeout: (work: () => void) => queueMicrotask(work),
  });
  const isShown = await promise;
  return [addresses[1] ?? '', isShown];
}

test('the page of an order that another order replaced shows the other, and no token of PayPal is sent again', async (t) => {
  const shown = { language: 'en', address: '/return/paypal/P1' } as const;
  const successor = await payerPage(order({ orderNo: 'P20300131080000ABCDEFGHJM' }), 'pay', en);
  t.deepEqual(await changeOf(await payerPage(order(), 'pay', en), successor), ['http://127.0.0.1/?token=t', true]);
  const back = await payerPage(order({ state: 'confirming' }), 'returned', shown);
  const declined = await payerPage(order({ state: 'declined' }), 'returned', shown);
  t.deepEqual(await changeOf(back, declined), ['/return/paypal/P1?lang=en', true]);
});

/** Runs the script of a page while its order stays as it is; returns the first requests as `seconds address`. */
async function requestsOf(html: string, count: number): Promise<string[]> {
  const dataset = dataOf(html);
  const main = { dataset };
  const requests: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let now = 0;
  runInNewContext(PAYER_SCRIPT, {
    addEventListener: () => {},
    clearTimeout: () => {},
    document: { hidden: false, querySelector: () => main, getElementById: () => null, addEventListener: () => {} },
    DOMParser: class {
      parseFromString = () => ({ querySelector: () => main });
    },
    fetch: (address: string) => {
      requests.push(`${now / 1000} ${address}`);
      if (requests.length === count) resolve();
      const json = () => Promise.resolve({ data: { state: dataset['state'] } });
      return requests.length < count
        ? Promise.resolve({ ok: true, json, text: () => Promise.resolve(html) })
        : new Promise(() => {});
    },
    location: { href: 'http://127.0.0.1/' },
    performance: { now: () => now },
    setInterval: () => {},
    setTimeout: (work: () => void, ms: number) => {
      now += ms;
      queueMicrotask(work);
    },
  });
  await promise;
  return requests;
}

test('a payer who came back is polled for every second, and then the channel is queried once more', async (t) => {
  const shown = { language: 'en', address: '/return/alipay/P1' } as const;
  const poll = '/pay/P20300131080000ABCDEFGHJK/state';
  const seconds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  const back = await requestsOf(await payerPage(order(), 'returned', shown), 14);
  t.deepEqual(back, [
    ...seconds.map((second) => `${second} ${poll}`),
    '10 /return/alipay/P1?lang=en',
    `12 ${poll}`,
    `14 ${poll}`,
  ]);
  const confirming = await requestsOf(await payerPage(order({ state: 'confirming' }), 'pay', en), 13);
  t.deepEqual(confirming.slice(-3), [`10 ${poll}`, `12 ${poll}`, `14 ${poll}`]);
  const waiting = await requestsOf(await payerPage(order(), 'pay', en), 2);
  t.deepEqual(waiting, [`2 ${poll}`, `4 ${poll}`]);
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
  const declined = order({ state: 'declined', payWay: 'paypal', payment: LINK });
  const html = await payerPage(declined, 'pay', en);
  t.regex(
    html,
    /<h1>Payment declined<\/h1>[^]*PayPal declined[^]*have not been charged[^]*Choose another[^]*Pay with PayPal/,
  );
  const chinese = await payerPage(declined, 'pay', zh);
  t.regex(chinese, /<h1>支付失败<\/h1>[^]*PayPal 未接受[^]*未产生扣款[^]*使用 PayPal 支付/);
  for (const state of ['failed', 'refused'] as const)
    t.regex(await payerPage(order({ state }), 'pay', en), /<h1>Payment declined<\/h1>[^]*return to the shop/);
});

test('a WeChat code has instructions for the phone that shows it, and a code that opens an app has none', async (t) => {
  const native = order({ payWay: 'wechat', payment: { type: 'qr', qrCode: 'weixin://wxpay/bizpayurl?pr=x' } });
  t.regex(
    await payerPage(native, 'pay', en),
    /class="on-phone">On this phone\?[^<]*save the picture[^<]*another phone/,
  );
  t.regex(await payerPage(native, 'pay', zh), /class="on-phone">在本机支付？[^<]*保存图片[^<]*扫一扫/);
  t.notRegex(await payerPage(order(), 'pay', en), /on-phone/);
});

test('a code is an image that a phone can save, with an alternative text', async (t) => {
  t.regex(
    await payerPage(order(), 'pay', en),
    /<img class="qr" alt="QR code to pay with Alipay" src="data:image\/png;base64,/,
  );
});
