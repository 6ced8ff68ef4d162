import { createPublicKey } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { notificationText, requestText, signRsa2, verifyRsa2 } from '../../../../server/channels/alipay/signature.ts';
import { keys } from './fixture.ts';

test('the request text omits sign and empty values, sorts by key and keeps values unescaped', (t) => {
  const params = { b: '2&=', sign_type: 'RSA2', a: '1', sign: 'x', empty: '', A: '\u4f60' };
  t.is(requestText(params), 'A=\u4f60&a=1&b=2&=&sign_type=RSA2');
});

test('the notification text omits sign and sign_type', (t) => {
  t.is(notificationText({ b: '2', sign_type: 'RSA2', a: '', sign: 'x' }), 'a=&b=2');
});

test('a signature is valid for exactly one text and key, and invalid input returns false without throwing', async (t) => {
  const sign = await signRsa2('text', keys.channel);
  const key = createPublicKey(keys.channel);
  t.true(verifyRsa2('text', sign, key));
  t.false(verifyRsa2('text ', sign, key));
  t.false(verifyRsa2('text', sign, createPublicKey(keys.next)));
  for (const bad of ['', '!', `${sign} `, sign.slice(4), sign.replace(/^./, (char) => (char === 'A' ? 'B' : 'A'))]) {
    t.false(verifyRsa2('text', bad, key), bad);
  }
});

test('a signed text verifies for any values', async (t) => {
  const key = createPublicKey(keys.app);
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), async (params) => {
      const text = requestText(params).toWellFormed();
      return verifyRsa2(text, await signRsa2(text, keys.app), key);
    }),
    { numRuns: 30 },
  );
  t.pass();
});
