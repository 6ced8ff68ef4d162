import test from 'ava';
import { errorCodes, type PublishedError } from '../../../server/error-codes/error-codes.ts';
import { AppError, Unavailable } from '../../../server/errors.ts';
import { clientAddress, plainAddress } from '../../../server/addresses.ts';
import { readCookies } from '../../../server/http/cookies.ts';
import { translateFault } from '../../../server/http/faults.ts';
import { readIdempotencyKey } from '../../../server/http/input.ts';
import { once } from '../../../server/http/built-files.ts';
import { createMemoryRateLimits } from '../../../server/http/edge.ts';
import { within } from '../../../server/routes/public.ts';

function request(remoteAddress: string, forwarded?: string): Parameters<typeof clientAddress>[0] {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as Parameters<
    typeof clientAddress
  >[0];
}

test('an address is read without port, brackets and IPv4 mapping', (t) => {
  t.is(plainAddress('::ffff:10.0.0.1'), '10.0.0.1');
  t.is(plainAddress('[2001:db8::1]:443'), '2001:db8::1');
  t.is(plainAddress(' 10.0.0.1:80 '), '10.0.0.1');
  t.is(plainAddress('fe80::1%eth0'), 'fe80::1');
});

test('with fewer entries than trusted proxies the first proxy entry is used', (t) => {
  t.is(clientAddress(request('10.0.0.9', '198.51.100.7'), 2), '198.51.100.7');
  t.is(clientAddress(request('::ffff:10.0.0.9'), 2), '10.0.0.9');
});

test('all values of a cookie name are found, without those of longer names', (t) => {
  t.deepEqual(readCookies('auth_token=a; xauth_token=b; auth_token="c"', 'auth_token'), ['a', 'c']);
  t.deepEqual(readCookies(undefined, 'auth_token'), []);
});

test('an Idempotency-Key is bare or quoted', (t) => {
  t.is(readIdempotencyKey(undefined), undefined);
  t.is(readIdempotencyKey('"a-1"'), 'a-1');
  t.is(readIdempotencyKey('x'.repeat(255)), 'x'.repeat(255));
  for (const bad of ['', '"', 'a"b', 'ä', 'x'.repeat(256)])
    t.throws(() => readIdempotencyKey(bad), { instanceOf: AppError }, bad);
});

test('database faults are distinguished, also as causes', (t) => {
  const code = (fault: object) => translateFault(fault).code;
  t.is(code(Object.assign(new Error('x'), { code: '57014' })), 'database_busy');
  t.is(code(new Error('select 1 - x', { cause: Object.assign(new Error('y'), { code: '40P01' }) })), 'database_busy');
  t.is(code(new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })])), 'database_unavailable');
  t.is(code(new Error('Connection terminated unexpectedly')), 'database_unavailable');
  t.is(code(Object.assign(new Error('x'), { code: '53100' })), 'database_full');
  for (const lack of ['53000', '53200', '53300', '53400'])
    t.is(code(Object.assign(new Error('x'), { code: lack })), 'database_busy', lack);
  // The server ended the idle transaction while it waited for us.
  t.is(code(Object.assign(new Error('x'), { code: '25P03' })), 'database_unavailable');
  t.is(code(Object.assign(new Error('x'), { code: '23505' })), 'internal_error');
  t.is(code(new Error('x', { cause: new Unavailable('login_busy', 'x') })), 'login_busy');
  const loop: { cause?: unknown } = new Error('x');
  loop.cause = loop;
  t.is(code(loop), 'internal_error');
});

test('every error code has a page with a remedy', (t) => {
  for (const [code, { title, meaning, remedy }] of Object.entries<PublishedError>(errorCodes)) {
    t.true(title !== '' && meaning.endsWith('.'), code);
    t.regex(code, /^[a-z][a-z0-9_]*$/);
    t.true(remedy.endsWith('.'), code);
  }
});

test('a rate limit window ends and starts again', async (t) => {
  let now = 1000;
  const limits = createMemoryRateLimits(() => now);
  await limits.consume('k', 1, 60);
  t.like(await limits.consume('k', 1, 60), { allowed: false, remaining: 0, resetSeconds: 60 });
  t.true((await limits.consume('other', 1, 60)).allowed);
  now += 60_000;
  t.true((await limits.consume('k', 1, 60)).allowed);
});

test('a value is created once, and a failure is retried', async (t) => {
  let tries = 0;
  const make = once(async () => {
    tries += 1;
    if (tries === 1) throw new Error('first');
    return tries;
  });
  await t.throwsAsync(make(), { message: 'first' });
  t.deepEqual(await Promise.all([make(), make()]), [2, 2]);
});

test('work that exceeds its time limit is abandoned', async (t) => {
  await t.throwsAsync(
    within(1, new Promise(() => {}), () => new Error('late')),
    { message: 'late' },
  );
  t.is(await within(60_000, Promise.resolve(1), () => new Error('late')), 1);
});
