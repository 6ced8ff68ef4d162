import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import iconv from 'iconv-lite';
import { TransportFailed, type WireAnswer } from '../../../../server/payments/channel.ts';
import { signRsa2 } from '../../../../server/channels/alipay/signature.ts';
import {
  certificateMode,
  channelSaying,
  channelWith,
  fixture,
  http,
  keyMode,
  keys,
  order,
  publicPem,
  ref,
  refund,
  said,
} from './fixture.ts';

const METHOD = 'alipay.trade.query';
const MEMBER = 'alipay_trade_query_response';
const paid = {
  code: '10000',
  out_trade_no: order.orderNo,
  trade_no: '1',
  trade_status: 'TRADE_SUCCESS',
  total_amount: '12.34',
};
const notExist = { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST', sub_msg: 'no' };
const raw = JSON.stringify(paid);
const genuine = (await said(METHOD, paid)).body.toString();
const sign = await signRsa2(raw, keys.channel);

const faults: [string, WireAnswer | (() => never), string][] = [
  [
    'timeout',
    () => {
      throw new TransportFailed('timeout', 'late');
    },
    'timeout',
  ],
  [
    'network',
    () => {
      throw new TransportFailed('network', 'gone');
    },
    'network',
  ],
  [
    'too large',
    () => {
      throw new TransportFailed('too_large', 'big');
    },
    'too_large',
  ],
  [
    'a local fault',
    () => {
      throw new TypeError('bug');
    },
    'network',
  ],
  ['502', http('<html>', 502), 'http_status'],
  ['a genuine response with status 500', http(genuine, 500), 'http_status'],
  ['redirect', http(genuine, 302), 'redirected'],
  ['html', http('<html><body>busy</body></html>'), 'unparsable'],
  ['nothing', http(''), 'unparsable'],
  ['a truncated body', http(genuine.slice(0, 60)), 'unparsable'],
  ['text after the object', http(`${genuine}{}`), 'unparsable'],
  ['invalid UTF-8', http(Buffer.concat([Buffer.from(genuine.slice(0, -1)), Buffer.from([0x80])])), 'unparsable'],
  ['not an object', http('[]'), 'unparsable'],
  ['a member that is not an object', http(`{"${MEMBER}":"${order.orderNo}","sign":"${sign}"}`), 'unparsable'],
  ["another method's member", http(genuine.replace(MEMBER, 'alipay_trade_close_response')), 'unparsable'],
  ['a success in error_response', await said(METHOD, paid, { member: 'error_response' }), 'unparsable'],
  ['no signature', http(`{"${MEMBER}":${raw}}`), 'unsigned'],
  ['an empty signature', http(`{"${MEMBER}":${raw},"sign":""}`), 'unsigned'],
  ['a signature that is not a text', http(`{"${MEMBER}":${raw},"sign":1}`), 'unsigned'],
  ['an unsigned "not exist"', http(JSON.stringify({ [MEMBER]: notExist })), 'unsigned'],
  [
    'an unsigned clock refusal',
    http(JSON.stringify({ [MEMBER]: { code: '40002', sub_code: 'isv.invalid-timestamp' } })),
    'clock_skew',
  ],
  [
    'an unsigned "bad signature"',
    http(JSON.stringify({ error_response: { code: '40002', sub_code: 'isv.invalid-signature' } })),
    'misconfigured',
  ],
  ['tampered', http(genuine.replace('12.34', '12.35')), 'signature_invalid'],
  ['an extra blank', http(genuine.replace('"10000",', '"10000", ')), 'signature_invalid'],
  ['a signature of another key', await said(METHOD, paid, { key: keys.app }), 'signature_invalid'],
  ['a signature that is not base64', http(genuine.replace(sign, '!!!')), 'signature_invalid'],
  ['a second member before', http(genuine.replace('{', `{"${MEMBER}":{"code":"40004"},`)), 'duplicate_key'],
  ['a second member after', http(genuine.replace(/}$/, `,"${MEMBER}":{"code":"40004"}}`)), 'duplicate_key'],
  ['an escaped second sign', http(genuine.replace(/}$/, ',"s\\u0069gn":"x"}')), 'duplicate_key'],
  ['a second key inside', http(genuine.replace('"trade_no":"1"', '"trade_no":"1","trade_no":"2"')), 'duplicate_key'],
  ['deep nesting', http('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000)), 'unparsable'],
];
for (const [name, answer, cause] of faults) {
  test(`broken response: ${name} is ${cause} for every call`, async (t) => {
    const { channel } = channelWith(() => (typeof answer === 'function' ? answer() : answer));
    t.like(await channel.query(ref), { kind: 'unknown', cause });
    if (name.includes('member')) return;
    const { channel: other } = channelWith(({ about }) => {
      if (typeof answer === 'function') return answer();
      const member = `${about.call.replaceAll('.', '_')}_response`;
      return { ...answer, body: Buffer.from(answer.body.toString('latin1').replaceAll(MEMBER, member), 'latin1') };
    });
    for (const outcome of [
      await other.place(order),
      await other.close(ref),
      await other.refund(refund),
      await other.queryRefund(refund),
    ]) {
      t.like(outcome, { kind: 'unknown', cause });
    }
  });
}

/** Includes characters whose second byte is an ASCII \\ [ { } or |, and one of four bytes. */
const CHINESE = '余额不足，甛乕亄亇亅，㐀';

/** A GBK response, signed over its own bytes. */
async function saidInGbk(method: string, content: object): Promise<WireAnswer> {
  const member = iconv.encode(JSON.stringify(content), 'gb18030');
  const name = `{"${method.replaceAll('.', '_')}_response":`;
  return http(
    Buffer.concat([Buffer.from(name), member, Buffer.from(`,"sign":"${await signRsa2(member, keys.channel)}"}`)]),
  );
}

test('a signed GBK refusal is read correctly for every call', async (t) => {
  const refusal = { code: '40004', sub_code: 'ACQ.SELLER_BALANCE_NOT_ENOUGH', sub_msg: CHINESE };
  const { channel } = channelWith(({ about }) =>
    saidInGbk(
      about.call,
      about.call.endsWith('precreate') ? { ...refusal, sub_code: 'ACQ.ACCESS_FORBIDDEN' } : refusal,
    ),
  );
  const declined = await channel.place(order);
  t.like(declined, { kind: 'declined', code: 'ACQ.ACCESS_FORBIDDEN', definite: true });
  t.true(declined.kind === 'declined' && declined.reason.startsWith(CHINESE), JSON.stringify(declined));
  const refused = { kind: 'refused', code: refusal.sub_code, reason: CHINESE } as const;
  t.deepEqual(await channel.refund(refund), refused);
  t.deepEqual(await channel.close(ref), refused);
});

test('a GBK response is verified by its bytes, and a text signed in UTF-8 is never read as GBK', async (t) => {
  const answer = await saidInGbk(METHOD, { ...notExist, sub_msg: CHINESE });
  const causeOf = async (body: Buffer) => {
    const outcome = await channelWith(() => http(body)).channel.query(ref);
    return outcome.kind === 'unknown' ? outcome.cause : outcome.kind;
  };
  const text = answer.body.toString('latin1');
  const changed = (from: string, to: string) => causeOf(Buffer.from(text.replace(from, to), 'latin1'));
  t.is(await causeOf(answer.body), 'absent');
  t.is(await changed('TRADE_NOT_EXIST', 'TRADE_NOT_EXISTS'), 'signature_invalid');
  t.is(await changed('},"sign"', ',"code":"10000"},"sign"'), 'duplicate_key');
  t.is(await causeOf(Buffer.concat([answer.body, Buffer.from([0xd3])])), 'unparsable');
  const chinese = await said(METHOD, { ...paid, subject: '中中' });
  t.is(await causeOf(chinese.body), 'paid');
  const beside = Buffer.concat([
    Buffer.from('{"x":"'),
    Buffer.from([0xd3, 0xe0]),
    Buffer.from('",'),
    chinese.body.subarray(1),
  ]);
  t.is(await causeOf(beside), 'unparsable');
});

test('an unsigned refusal keeps its sub_code for the operator', async (t) => {
  const { channel } = channelWith(({ about }) =>
    http(JSON.stringify({ [`${about.call.replaceAll('.', '_')}_response`]: notExist })),
  );
  for (const outcome of [await channel.query(ref), await channel.close(ref), await channel.refund(refund)]) {
    t.is(outcome.kind, 'unknown');
    t.regex(outcome.kind === 'unknown' ? (outcome.detail ?? '') : '', /ACQ\.TRADE_NOT_EXIST/);
  }
});

test('a signed refusal in error_response is accepted', async (t) => {
  const channel = channelSaying(notExist, { member: 'error_response' });
  t.deepEqual(await channel.query(ref), { kind: 'absent' });
});

test('braces, quotes and escapes inside strings do not shift the signed part', async (t) => {
  const content = { ...paid, subject: '"},"sign":"x\\', note: '\u8336 {[' };
  t.like(await channelSaying(content).query(ref), { kind: 'paid' });
});

test('blanks around the members are not signed', async (t) => {
  const { channel } = channelWith(() => http(` {\n "${MEMBER}" : ${raw} ,\n "sign" : "${sign}" }\n`));
  t.like(await channel.query(ref), { kind: 'paid' });
});

test('key mode: every configured key verifies, so a key change loses no response', async (t) => {
  const pems = { ...keyMode, alipay_public_key: [publicPem(keys.next), publicPem(keys.channel)] };
  for (const key of [keys.channel, keys.next]) {
    const { channel } = channelWith(({ about }) => said(about.call, paid, { key }), { pems });
    t.like(await channel.query(ref), { kind: 'paid' });
  }
});

test('certificate mode: the serial selects the key, and an unknown, missing or foreign serial is rejected', async (t) => {
  const both = { ...certificateMode, alipay_public_cert: [fixture('alipay.crt'), fixture('alipay2.crt')] };
  const ask = (pems: Record<string, string[]>, signing: Parameters<typeof said>[2]) =>
    channelWith(({ about }) => said(about.call, paid, signing), { pems }).channel.query(ref);
  t.like(await ask(certificateMode, { certificate: 'alipay.crt' }), { kind: 'paid' });
  t.like(await ask(certificateMode, { certificate: 'alipay2.crt', key: keys.next }), {
    kind: 'unknown',
    cause: 'serial_unknown',
  });
  t.like(await ask(both, { certificate: 'alipay2.crt', key: keys.next }), { kind: 'paid' });
  t.like(await ask(both, { certificate: 'alipay2.crt' }), { kind: 'unknown', cause: 'signature_invalid' });
  t.like(await ask(both, {}), { kind: 'unknown', cause: 'serial_unknown' });
});

test('a response with any changed bytes gives the same outcome or unknown', async (t) => {
  const { channel: sound } = channelWith(() => http(genuine));
  const expected = await sound.query(ref);
  const change = fc.record({ at: fc.nat(genuine.length), drop: fc.nat(3), put: fc.string({ maxLength: 3 }) });
  await fc.assert(
    fc.asyncProperty(change, async ({ at, drop, put }) => {
      const { channel } = channelWith(() => http(genuine.slice(0, at) + put + genuine.slice(at + drop)));
      const outcome = await channel.query(ref);
      return outcome.kind === 'unknown' || isDeepStrictEqual(outcome, expected);
    }),
    { numRuns: 300 },
  );
  t.is(expected.kind, 'paid');
});
