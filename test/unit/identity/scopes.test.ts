import test from 'ava';
import { covers, effectiveScopes } from '../../../server/identity/authenticators.ts';
import { scopes, trustedScopes } from '../../../server/domain.ts';
import { needTrust } from '../../../server/identity/api-app-rows.ts';

test('only configuration, certificate and admin scopes need trust', (t) => {
  for (const scope of scopes) t.is(needTrust([scope]), (trustedScopes as readonly string[]).includes(scope), scope);
});

test('admin covers every existing scope and no other', (t) => {
  for (const scope of scopes) t.true(covers(['admin'], scope));
  t.false(covers(['admin'], 'payment:*'));
  t.false(covers(['payment:*'], 'payment:*'));
  t.false(covers(['payment:read'], 'payment:write'));
});

test('a token has only the scopes that both it and its application have', (t) => {
  const both = (token: string[], app: string[]) => [...effectiveScopes(token, app)];
  t.deepEqual(both(['payment:read', 'user:read'], ['user:read', 'coin:read']), ['user:read']);
  t.deepEqual(both(['admin'], ['payment:read']), ['payment:read']);
  t.deepEqual(both(['payment:read'], ['admin']), ['payment:read']);
  t.deepEqual(both(['admin'], ['admin']), [...scopes]);
  t.deepEqual(both([''], ['admin']), []);
});
