import test from 'ava';
import { redactText, redactUrl } from '../../../server/channels/redaction.ts';

const texts: [string, string][] = [
  ['{"a":1,"sign":"x\\"SECRET"}', '{"a":1,"sign":"***"}'],
  ['{"Access_Token" : "SECRET"}', '{"Access_Token" : "***"}'],
  ['{"resource":{"nonce":"SECRET","ciphertext":"SECRET', '{"resource":{"nonce":"***","ciphertext":"***"'],
  ['sign=SECRET&a=1', 'sign=***&a=1'],
  ['a=1&sign_type=RSA2&sign=SECRET', 'a=1&sign_type=RSA2&sign=***'],
  ['Authorization: Bearer SECRET', 'Authorization: Bearer ***'],
  ['-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----', '***'],
  ['-----BEGIN PRIVATE KEY-----\nSECRET', '***'],
];
for (const [text, expected] of texts) {
  test(`redacts ${JSON.stringify(text)}`, (t) => t.is(redactText(text), expected));
}

test('a long text is cut and says how long it was', (t) => {
  const text = redactText('x'.repeat(100_000));
  t.true(text.length < 17_000);
  t.regex(text, /\(100000 characters\)$/);
});

test('an address keeps neither a user nor a signature', (t) => {
  t.is(redactUrl('https://me:SECRET@pay.example.test/a?sign=SECRET&b=1'), 'https://pay.example.test/a?sign=***&b=1');
});
