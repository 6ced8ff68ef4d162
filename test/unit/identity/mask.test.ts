import test from 'ava';
import { mask } from '../../../server/identity/audit.ts';

test('secrets are masked by name and by pattern, at every depth', (t) => {
  const masked = mask({
    name: 'shop',
    client_secret: 'abc',
    nested: { privateKey: 'k', list: [{ token: 't' }, 'pays_abcdefghijkl', 'call pays_abcdefghijkl now'] },
    pem: 'x',
    note: '-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----',
    header: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.abc-def',
    apiV3Key: 'secret',
    key: 'k',
  });
  t.deepEqual(masked, {
    name: 'shop',
    client_secret: '***',
    nested: { privateKey: '***', list: [{ token: '***' }, '***', 'call *** now'] },
    pem: '***',
    note: '***',
    header: 'Bearer ***',
    apiV3Key: '***',
    key: '***',
  });
});

test('numbers, booleans, dates, hints and null are not masked', (t) => {
  const at = new Date('2030-01-01T00:00:00Z');
  t.deepEqual(mask({ amount: 5, enabled: true, at, big: 7n, none: null, left: undefined, secretHint: 'pays_…abcd' }), {
    amount: 5,
    enabled: true,
    at: '2030-01-01T00:00:00.000Z',
    big: '7',
    none: null,
    secretHint: 'pays_…abcd',
  });
  t.is(mask(null), null);
  t.is(mask('text'), null);
});
