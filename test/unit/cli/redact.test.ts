import test from 'ava';
import { redact, redactBody, redactPath, redactText } from '../../../cli/http.ts';

test('secrets are redacted by key, at any depth', (t) => {
  t.deepEqual(
    redact({
      name: 'x',
      password: 'p',
      nested: [{ client_secret: 's', appPrivateKey: 'k' }],
      tokenType: 'Bearer',
      revokeTokens: true,
    }),
    {
      name: 'x',
      password: '***',
      nested: [{ client_secret: '***', appPrivateKey: '***' }],
      tokenType: 'Bearer',
      revokeTokens: true,
    },
  );
});

for (const secret of [
  'pays_A1b2C3d4E5f6G7h8',
  'whsec_abcdefgh12345678',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln',
  '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----',
]) {
  test(`a value that looks like a secret is redacted too: ${secret.slice(0, 12)}`, (t) => {
    t.false(redactText(`note: ${secret} end`).includes(secret.slice(8)));
    t.false(JSON.stringify(redact({ remark: secret })).includes(secret.slice(8)));
  });
}

test('second-factor codes are redacted, and error codes are kept', (t) => {
  t.deepEqual(redact({ recoveryCodes: ['abcdef-ghjkmn-pqrstv-wxyz01'], uri: 'otpauth://totp/Pay:root?secret=JBSW' }), {
    recoveryCodes: '***',
    uri: '***',
  });
  for (const code of ['492039', '492 039', 'abcdef-ghjkmn-pqrstv-wxyz01', 'ABCDEFGHJKMNPQRSTVWXYZ01']) {
    t.deepEqual(redact({ code }), { code: '***' });
  }
  for (const code of ['login_failed', 'second_factor_required', 'COIN-A', 40100])
    t.deepEqual(redact({ code }), { code });
});

test('a body that is not JSON shows only its size', (t) => {
  t.is(redactBody('grant_type=client_credentials&client_secret=pays_x'), '(50 characters)');
  t.is(redactBody('{"password":"p"}'), '{"password":"***"}');
});

test('secrets in queries are redacted', (t) => t.is(redactPath('/a?token=abc&limit=5'), '/a?token=***&limit=5'));
