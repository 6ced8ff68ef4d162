import test from 'ava';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { DICTIONARIES, digestOf, packTexts, readTexts } from '../../../server/db/queries/messages.ts';

/** Texts as the log stores them: without NUL and lone surrogates. */
const text = fc.option(
  fc.string({ unit: 'grapheme', maxLength: 300 }).map((one) => one.toWellFormed().replaceAll('\0', '')),
);

const ABOUT = { orderNo: 'P20261125023731SZ1BHBAJV4', at: new Date('2026-11-25T02:37:31.250Z') };

function packedAndRead(texts: { request: string | null; answer: string | null }) {
  return readTexts({ ...ABOUT, texts: packTexts(texts, ABOUT) });
}

test('every message text survives packing', (t) => {
  fc.assert(
    fc.property(text, text, (request, answer) => {
      t.deepEqual(packedAndRead({ request, answer }), { request, answer });
    }),
  );
  t.is(packTexts({ request: null, answer: null }, ABOUT), null);
  t.deepEqual(readTexts({ ...ABOUT, texts: null }), { request: null, answer: null });
  const long = { request: '长'.repeat(16_384), answer: `{"n":${Math.PI}}`.repeat(1000) };
  t.deepEqual(packedAndRead(long), long);
});

test('a message packed with a newer dictionary has no texts', (t) => {
  t.deepEqual(readTexts({ ...ABOUT, texts: Uint8Array.of(250, 1, 2) }), { request: null, answer: null });
});

const ORDERED = {
  request:
    '{"appid":"wxec6f969ac915c951","mchid":"1947580419","description":"Two coffees","out_trade_no":"P20261125023731SZ1BHBAJV4","time_expire":"2026-11-25T12:37:31+08:00","notify_url":"https://pay.shop.example/notify/wechat/default","amount":{"total":1250,"currency":"CNY"}}',
  answer: '{"code_url":"weixin://wxpay/bizpayurl?pr=p4lpSuKzz"}',
};
const CAPTURED = {
  request: '',
  answer:
    '{"id":"5O190127TN364715T","status":"COMPLETED","payment_source":{"paypal":{"email_address":"buyer@shop.example","account_id":"QYR5Z8XDVJNXQ","name":{"given_name":"Jo","surname":"Do"},"address":{"country_code":"US"}}},"purchase_units":[{"reference_id":"default","payments":{"captures":[{"id":"3C679366HH908993F","status":"COMPLETED","amount":{"currency_code":"USD","value":"100.00"},"seller_protection":{"status":"ELIGIBLE","dispute_categories":["ITEM_NOT_RECEIVED","UNAUTHORIZED_TRANSACTION"]},"final_capture":true,"seller_receivable_breakdown":{"gross_amount":{"currency_code":"USD","value":"100.00"},"paypal_fee":{"currency_code":"USD","value":"3.00"},"net_amount":{"currency_code":"USD","value":"97.00"}},"create_time":"2026-11-25T02:37:31Z","update_time":"2026-11-25T02:37:31Z"}]}}]}',
};

test('channel messages pack to less than half their size, long ones to less than a third', (t) => {
  const share = (texts: { request: string; answer: string }) =>
    packTexts(texts, ABOUT)!.length / (texts.request.length + texts.answer.length);
  t.true(share(ORDERED) < 0.5, String(share(ORDERED)));
  t.true(share(CAPTURED) < 0.33, String(share(CAPTURED)));
});

test('the dictionary of stored messages never changes', (t) => {
  const sums = Object.entries(DICTIONARIES).map(([number, words]) => [
    number,
    createHash('sha256').update(words).digest('hex'),
  ]);
  t.deepEqual(sums, [['1', 'f444aa60f52f1ffa85b7bfb0f9481b808c296c22dbb1a3b1f638995dde982b85']]);
});

test('responses that differ only in per-call ids have the same digest', (t) => {
  const answer = (id: string, status = 'CREATED') => `{"status":"${status}","debug_id":"${id}"}`;
  t.is(digestOf(answer('a')), digestOf(answer('b')));
  t.not(digestOf(answer('a')), digestOf(answer('a', 'APPROVED')));
  t.is(digestOf(null), null);
  t.regex(digestOf('x')!, /^-?\d{1,19}$/);
});
