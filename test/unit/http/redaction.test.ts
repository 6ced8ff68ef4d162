import test from 'ava';
import { describeError } from '../../../server/http/faults.ts';
import { createLogger, redactMembers, redactText } from '../../../server/http/logger.ts';

function logged(members: Record<string, unknown>): string {
  const lines: string[] = [];
  createLogger({ log: { level: 'info' } }, { write: (line) => void lines.push(line) }).info(members, 'said');
  return lines.join('');
}

test('secrets are redacted by their pattern, anywhere in a text', (t) => {
  const key = 'q83vEjRWeJq83vEjRWeJAbCdEfGhIjKlMnOpQrStUvWxY=';
  const secrets = [
    'Bearer abc.def',
    'bearer abcdefgh',
    'Basic dXNlcjpwYXNzd29yZA==',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'pays_0123456789abcdefghijklmnop',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    '-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\n-----END PRIVATE KEY-----',
    'otpauth://totp/Pay:root?issuer=Pay&secret=JBSWY3DPEHPK3PXP',
    key,
  ];
  for (const secret of secrets) {
    const shown = redactText(`{"text":"before ${secret} after"}`);
    t.is(shown, '{"text":"before [redacted] after"}', secret);
  }
  t.is(redactText('postgres://pay:pa%24s@db:5432/pay'), 'postgres://pay:[redacted]@db:5432/pay');
});

test('a long key is redacted at every position of a line', (t) => {
  const key = `A1b2${'CdEfGhIjKlMnOpQrStUvWxYz0123456789abcDEF'.slice(0, 39)}`;
  t.is(key.length, 43);
  for (let place = 0; place < 100; place += 1) {
    const line = `${' '.repeat(place)}${key} end`;
    t.false(redactText(line).includes(key), String(place));
  }
});

test('long paths, ids and patterns are not redacted', (t) => {
  for (const text of [
    '/opt/releases/2030-01-31/node_modules/koa-compose/index-of-the-module',
    'cc844f08-7e16-4306-a5b8-bcb750f133a4',
    '/api/v1/console/payment/configurations/and/certificates',
  ]) {
    t.is(redactText(text), text);
  }
});

test('values of secret names are redacted at every depth, including numbers and objects', (t) => {
  t.deepEqual(
    redactMembers({
      a: { client_secret: 1, recoveryCodes: ['x'], list: [{ Authorization: { x: 1 } }] },
      token: 't',
      tokenType: 'Bearer',
    }),
    {
      a: { client_secret: '[redacted]', recoveryCodes: '[redacted]', list: [{ Authorization: '[redacted]' }] },
      token: '[redacted]',
      tokenType: 'Bearer',
    },
  );
});

test('a log line is JSON without raw control characters', (t) => {
  const line = logged({ name: '\u001b[31mred\u009b0m\u2028\u202e', password: 'x', body: 'y' });
  t.notRegex(line.trimEnd(), /[\p{Cc}\u2028\u202e]/u);
  t.like(JSON.parse(line), {
    name: '\u001b[31mred\u009b0m\u2028\u202e',
    password: '[redacted]',
    body: '[redacted]',
    level: 'info',
    msg: 'said',
  });
});

test('an error is logged with its reason and stack, without the statement and its values', (t) => {
  const cause = Object.assign(new Error('lock'), { code: '55P03' });
  const error = new Error(`insert into "apps" ("secret") values ('abc') - duplicate key`, { cause });
  const shown = describeError(error);
  t.is(shown.message, 'duplicate key');
  t.notRegex(shown.stack ?? '', /insert/);
  t.like(shown.cause, { code: '55P03', message: 'lock' });
  t.regex(logged({ err: error }), /duplicate key/);
});

test('the audit log tip is logged for external storage, and similar values are redacted', (t) => {
  const tip = 'ab'.repeat(32);
  const lines: string[] = [];
  const logger = createLogger({ log: { level: 'info' } }, { write: (line) => void lines.push(line) });
  logger.info({ tip, other: tip, action: 'admin.login' }, `audit log tip ${tip}`);
  t.like(JSON.parse(lines[0]!), { tip, other: '[redacted]', msg: 'audit log tip [redacted]' });
  logger.info({ tip: 'AB'.repeat(32) }, 'no tip of ours');
  t.is(JSON.parse(lines[1]!).tip, '[redacted]');
});
