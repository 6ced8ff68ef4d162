import test from 'ava';
import { AppError } from '../../../../server/errors.ts';
import { isOutTradeNo } from '../../../../server/skillpay/schemes/scheme.ts';
import { readProof } from '../../../../server/skillpay/schemes/x402.ts';

const outTradeNo = 'X20300101000000ABCDEFGHJK';
const accepted = { scheme: 'exact', network: 'wechat:live' };
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

test('a proof contains its order number and the accepted requirements', (t) => {
  const proof = readProof(encode({ x402Version: 2, accepted, payload: { outTradeNo }, extensions: {} }));
  t.like(proof, { outTradeNo, accepted, paymentId: undefined });
  const looksTwice = { '"a': 'a":1,"b" : {\\', b: ['"a":', '"a" :', { a: 1 }, { a: 1 }] };
  t.is(readProof(encode({ x402Version: 2, accepted, payload: { outTradeNo, looksTwice } })).outTradeNo, outTradeNo);
});

test('a proof that is not strict base64 of a shallow payload is refused', (t) => {
  const good = { x402Version: 2, accepted, payload: { outTradeNo } };
  let deep: unknown = 1;
  for (let level = 0; level < 25; level++) deep = { deep };
  const bad: Record<string, string> = {
    empty: '',
    'not base64': '%%%',
    'base64url of odd bits': `${encode(good).replaceAll('=', '')}`,
    'a space': ` ${encode(good)}`,
    'not JSON': Buffer.from('{').toString('base64'),
    'a list': encode([good]),
    'another version': encode({ ...good, x402Version: 1 }),
    'no payload': encode({ x402Version: 2, accepted }),
    'no number': encode({ ...good, payload: {} }),
    'a bad number': encode({ ...good, payload: { outTradeNo: 'P20300101000000ABCDEFGHJK' } }),
    'a number that is an object': encode({ ...good, payload: { outTradeNo: { $ne: '' } } }),
    'a member twice': Buffer.from(JSON.stringify(good).replace('{"o', '{"outTradeNo":"X","o')).toString('base64'),
    'too deep': encode({ ...good, extensions: deep }),
    'too long': encode({ ...good, extensions: 'x'.repeat(4096) }),
    'brackets only': Buffer.from('['.repeat(3000)).toString('base64'),
  };
  for (const [what, header] of Object.entries(bad)) {
    if (what === 'base64url of odd bits' && header === encode(good)) continue;
    const error = t.throws(() => readProof(header), { instanceOf: AppError }, what);
    t.is(error?.code, 'proof_invalid', what);
    t.is(error?.status, 400);
  }
});

test('pay-per-call numbers have exactly one form', (t) => {
  t.true(isOutTradeNo(outTradeNo));
  for (const other of [`${outTradeNo}\n`, outTradeNo.toLowerCase(), outTradeNo.slice(1), `${outTradeNo}0`])
    t.false(isOutTradeNo(other));
});
