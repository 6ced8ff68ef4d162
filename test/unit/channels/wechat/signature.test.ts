import { createVerify, generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import * as signature from '../../../../server/channels/wechat/signature.ts';
import { openText, encryptText } from '../../../../server/channels/wechat/signature.ts';
import { readObject, UnreadableJson } from '../../../../server/channels/wechat/reply.ts';

const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });
const API_KEY = Buffer.from('0123456789abcdef0123456789ABCDEF');

test('the request text has five lines, each ending with a line feed', (t) => {
  const parts = { target: '/v3/certificates?a=b', timestamp: '1554208460', nonce: '593BEC0C930BF1AFEB40B4A08C8FB242' };
  t.is(
    signature.requestText({ method: 'GET', ...parts, body: '' }).toString(),
    'GET\n/v3/certificates?a=b\n1554208460\n593BEC0C930BF1AFEB40B4A08C8FB242\n\n',
  );
  t.is(
    signature
      .requestText({ method: 'POST', ...parts, body: '{"é":1}' })
      .toString()
      .split('\n')[4],
    '{"é":1}',
  );
});

test('the response text covers the raw bytes, and an empty body is an empty line', (t) => {
  t.is(signature.answerText('1', 'n', Buffer.alloc(0)).toString(), '1\nn\n\n');
  const bytes = Buffer.from([0xff, 0x00, 0x0a]);
  t.deepEqual(signature.answerText('1', 'n', bytes).subarray(4, 7), bytes);
});

test('the signed payer texts differ by scene', (t) => {
  t.is(signature.jsapiText('wx1', '2', 'n', 'p').toString(), 'wx1\n2\nn\nprepay_id=p\n');
  t.is(signature.appText('wx1', '2', 'n', 'p').toString(), 'wx1\n2\nn\np\n');
});

test('a signature is SHA256withRSA in base64 and verifies only for its text and key', async (t) => {
  const text = Buffer.from('text');
  const made = await signature.signRsa(text, KEYS.privateKey);
  t.true(createVerify('RSA-SHA256').update(text).verify(KEYS.publicKey, made, 'base64'));
  t.true(signature.verifyRsa(text, made, KEYS.publicKey));
  t.false(signature.verifyRsa(Buffer.from('Text'), made, KEYS.publicKey));
  t.false(signature.verifyRsa(text, made.slice(4), KEYS.publicKey));
  t.false(signature.verifyRsa(text, `${signature.SIGNTEST}${made}`, KEYS.publicKey));
  t.false(signature.verifyRsa(text, ` ${made}`, KEYS.publicKey));
  t.false(signature.verifyRsa(text, '', KEYS.publicKey));
});

test('an Authorization header is parsed in any order', (t) => {
  const written = { mchid: '1900000109', nonce: 'n', timestamp: '1554208460', serial: 'AB', signature: 'c2ln' };
  t.deepEqual(signature.readAuthorization(signature.writeAuthorization(written)), written);
  const shuffled =
    'WECHATPAY2-SHA256-RSA2048 signature="c2ln",serial_no="AB", timestamp="1554208460",nonce_str="n",mchid="1900000109"';
  t.deepEqual(signature.readAuthorization(shuffled), written);
});

for (const [what, header] of [
  ['nothing', undefined],
  ['another scheme', 'Bearer abc'],
  ['a missing member', 'WECHATPAY2-SHA256-RSA2048 mchid="1",nonce_str="n",timestamp="1",serial_no="A"'],
  [
    'a repeated member',
    'WECHATPAY2-SHA256-RSA2048 mchid="1",mchid="2",nonce_str="n",timestamp="1",serial_no="A",signature="c"',
  ],
  [
    'a timestamp that is not a number',
    'WECHATPAY2-SHA256-RSA2048 mchid="1",nonce_str="n",timestamp="x",serial_no="A",signature="c"',
  ],
  ['an unquoted member', 'WECHATPAY2-SHA256-RSA2048 mchid=1,nonce_str="n",timestamp="1",serial_no="A",signature="c"'],
] as const) {
  test(`an Authorization header with ${what} is refused`, (t) => {
    t.is(signature.readAuthorization(header), undefined);
  });
}

test('serials are compared without case and leading zeros', (t) => {
  t.is(signature.plainSerial('00ab1'), 'AB1');
  t.is(signature.plainSerial('AB1'), 'AB1');
  t.not(signature.plainSerial('AB10'), 'AB1');
  t.is(signature.plainSerial('0'), '0');
});

test('a timestamp is fresh within five minutes in both directions', (t) => {
  const now = new Date(1_700_000_000_000);
  t.true(signature.isFresh('1700000300', now));
  t.true(signature.isFresh('1699999700', now));
  t.false(signature.isFresh('1700000301', now));
  t.false(signature.isFresh('1699999699', now));
  t.false(signature.isFresh('1700000000.5', now));
  t.false(signature.isFresh('', now));
});

test('an encrypted text is decrypted only with its key, nonce, tag and associated data', (t) => {
  const encrypted = encryptText('{"a":"ü"}', 'abcdefghijkl', 'transaction', API_KEY);
  t.is(openText(encrypted, API_KEY), '{"a":"ü"}');
  t.is(openText(encryptText('x', 'abcdefghijkl', '', API_KEY), API_KEY), 'x');
  const flipped = Buffer.from(encrypted.ciphertext, 'base64');
  flipped[flipped.length - 1]! ^= 1;
  t.throws(() => openText({ ...encrypted, ciphertext: flipped.toString('base64') }, API_KEY));
  t.throws(() => openText({ ...encrypted, associatedData: '' }, API_KEY));
  t.throws(() => openText({ ...encrypted, nonce: 'abcdefghijkL' }, API_KEY));
  t.throws(() => openText(encrypted, Buffer.alloc(32)));
  t.throws(() => openText({ ...encrypted, ciphertext: Buffer.alloc(16).toString('base64') }, API_KEY));
});

test('an object is parsed, and a duplicate member at any depth is refused', (t) => {
  t.deepEqual(readObject('{"a":[{"b":1},{"b":2}],"c":{"a":"x:\\"y:z"},"d":[]}'), {
    a: [{ b: 1 }, { b: 2 }],
    c: { a: 'x:"y:z' },
    d: [],
  });
  for (const text of ['{"a":1,"a":1}', '{"x":{"a":1,"a":2}}', '{"x":[{"a":1,"\\u0061":2}]}']) {
    t.is(t.throws(() => readObject(text), { instanceOf: UnreadableJson }).why, 'duplicate_key', text);
  }
  for (const text of ['', '[]', 'null', '"a"', '{', '<html>']) {
    t.is(t.throws(() => readObject(text), { instanceOf: UnreadableJson }).why, 'unparsable', text);
  }
  t.throws(() => readObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), { instanceOf: UnreadableJson });
});
