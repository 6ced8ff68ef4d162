import test from 'ava';
import { environmentName, keyNames, keys } from '../../../config/schema.ts';
import { nearest } from '../../../config/nearest.ts';

test('environment names follow the words of the key', (t) => {
  t.is(environmentName('Debug'), 'PAY_DEBUG');
  t.is(environmentName('JWT.SecretKey'), 'PAY_JWT_SECRET_KEY');
  t.is(environmentName('OAuth.Issuer'), 'PAY_OAUTH_ISSUER');
  t.is(environmentName('Skillpay.DevMode'), 'PAY_SKILLPAY_DEV_MODE');
  t.is(environmentName('RateLimit.PerApp'), 'PAY_RATE_LIMIT_PER_APP');
});

test('no two keys share a variable, including the _FILE variants', (t) => {
  const names = keyNames.flatMap((key) => [environmentName(key), `${environmentName(key)}_FILE`]);
  t.is(new Set(names).size, names.length);
});

test('every key has a sentence, and every default passes its own schema', (t) => {
  for (const key of keyNames) {
    const { schema, fallback, sentence } = keys[key];
    t.regex(sentence, /^[A-Z].*\.$/, key);
    if (fallback !== undefined) t.true(schema.safeParse(fallback).success, key);
  }
});

test('exactly the sensitive keys are secret', (t) => {
  const secret = keyNames.filter((key) => keys[key].secret);
  t.deepEqual(secret, ['Database.Url', 'Database.ReadUrl', 'JWT.SecretKey', 'Security.MasterKey']);
});

test('a misspelled key finds the intended name, and an unrelated one finds none', (t) => {
  t.is(nearest('JWT.SecretKy', keyNames), 'JWT.SecretKey');
  t.is(nearest('server.publicurl', keyNames), 'Server.PublicUrl');
  t.is(nearest('Completely.Different', keyNames), undefined);
  t.is(nearest('x'.repeat(100_000), keyNames), undefined);
});
