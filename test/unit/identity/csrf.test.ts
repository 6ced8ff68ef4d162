import test from 'ava';
import { csrfMatches, newCsrfToken } from '../../../server/identity/tokens.ts';

const key = new Uint8Array(32).fill(7);

test('a CSRF token is valid only for its session and key', (t) => {
  const value = newCsrfToken(key, 'session-1');
  t.true(csrfMatches(key, value, 'session-1'));
  t.false(csrfMatches(key, value, 'session-2'));
  t.false(csrfMatches(new Uint8Array(32), value, 'session-1'));
  t.not(newCsrfToken(key, 'session-1'), value);
});

test('a changed CSRF token does not match, and neither does one with shifted parts', (t) => {
  const value = newCsrfToken(key, 'ab');
  const [random = '', mac = ''] = value.split('.');
  for (const bad of ['', '.', random, `${random}.`, `.${mac}`, `${value}.`, `${value}x`, `x${value}`])
    t.false(csrfMatches(key, bad, 'ab'), bad);
  t.false(csrfMatches(key, `b${random}.${mac}`, 'a'));
});
