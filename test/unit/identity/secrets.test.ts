import test from 'ava';
import {
  hashSecret,
  newClientId,
  newClientSecret,
  secretHint,
  secretMatches,
} from '../../../server/identity/api-app-rows.ts';

test('secrets have 32 random bytes, ids have twenty characters, and all are unique', (t) => {
  const secrets = new Set(Array.from({ length: 100 }, newClientSecret));
  const ids = new Set(Array.from({ length: 100 }, newClientId));
  t.is(secrets.size + ids.size, 200);
  for (const secret of secrets) t.is(Buffer.from(secret.slice(5), 'base64url').length, 32);
  for (const id of ids) t.regex(id, /^app_[0-9a-v]{20}$/);
});

test('a secret matches only its own hash', (t) => {
  const secret = newClientSecret();
  t.true(secretMatches(secret, hashSecret(secret)));
  t.false(secretMatches(newClientSecret(), hashSecret(secret)));
  t.false(secretMatches(hashSecret(secret), hashSecret(secret)));
  t.false(secretMatches(secret, ''));
  t.is(secretHint('pays_abcdefgh1234'), 'pays_…1234');
});
