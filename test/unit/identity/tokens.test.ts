import test from 'ava';
import { SignJWT, decodeJwt } from 'jose';
import { Unauthenticated } from '../../../server/errors.ts';
import { PRINTABLE_NAME, createMint, deriveKeys } from '../../../server/identity/tokens.ts';

const keys = deriveKeys('a-test-secret-of-more-than-32-bytes!');
const kind = {
  typ: 'at+jwt',
  issuer: 'i',
  audience: 'i/api/v2',
  key: keys.accessTokens,
  ttlSeconds: 60,
  subject: PRINTABLE_NAME,
};

test('a verified token returns the issued values', async (t) => {
  const at = new Date('2030-01-01T00:00:00Z');
  const mint = createMint(kind, () => at);
  const { token, jti } = await mint.issue({ subject: 'app', generation: 3, scope: 'a b' });
  const expiresAt = new Date('2030-01-01T00:01:00Z');
  t.deepEqual(await mint.verify(token), { subject: 'app', generation: 3, scope: 'a b', jti, expiresAt });
});

test('an issued token is the one that jose makes of the same claims', async (t) => {
  const mint = createMint(kind, () => new Date('2030-01-01T00:00:00Z'));
  for (const claims of [
    { subject: 'app', generation: 3, scope: 'payment:read payment:write' },
    { subject: 'ädmin "1"', generation: 1 },
  ]) {
    const { token, jti } = await mint.issue(claims);
    const payload = decodeJwt(token);
    t.deepEqual(payload, {
      gen: claims.generation,
      ...(claims.scope !== undefined && { scope: claims.scope, client_id: claims.subject }),
      iss: 'i',
      aud: 'i/api/v2',
      sub: claims.subject,
      jti,
      iat: 1_893_456_000,
      exp: 1_893_456_060,
    });
    const made = new SignJWT(payload).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' });
    t.is(token, await made.sign(keys.accessTokens));
  }
});

test('a token expires exactly after its lifetime', async (t) => {
  let seconds = 0;
  const mint = createMint(kind, () => new Date(Date.UTC(2030, 0, 1) + seconds * 1000));
  const { token } = await mint.issue({ subject: 'app', generation: 1 });
  seconds = 59;
  await t.notThrowsAsync(mint.verify(token));
  seconds = 60;
  await t.throwsAsync(mint.verify(token), { instanceOf: Unauthenticated });
});

test.serial('the signature of a known token is not verified again, and any other signature is', async (t) => {
  const mint = createMint(kind, () => new Date('2030-01-01T00:00:00Z'));
  const { token } = await mint.issue({ subject: 'app', generation: 1 });
  const { verify } = crypto.subtle;
  let computed = 0;
  crypto.subtle.verify = (...words: Parameters<typeof verify>) => {
    computed += 1;
    return verify.apply(crypto.subtle, words);
  };
  t.teardown(() => void (crypto.subtle.verify = verify));
  const genuine = await mint.verify(token);
  t.deepEqual(await mint.verify(token), genuine);
  t.is(computed, 1);
  const [head, claims = '', signature] = token.split('.');
  const forged = JSON.stringify({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'other' });
  const other = [head, Buffer.from(forged).toString('base64url'), signature].join('.');
  await t.throwsAsync(mint.verify(other), { instanceOf: Unauthenticated });
  await t.throwsAsync(mint.verify(other), { instanceOf: Unauthenticated });
  t.is(computed, 3, 'a forged one is never known');
  for (let one = 0; one < 1_000; one += 1)
    await mint.verify((await mint.issue({ subject: `app-${one}`, generation: 1 })).token);
  t.is(computed, 1_003);
  t.deepEqual(await mint.verify(token), genuine);
  t.is(computed, 1_004, 'only so many are kept');
});

test('each purpose and each secret has its own keys', (t) => {
  const all = [keys, deriveKeys('another-test-secret-of-32-bytes-or-more')].flatMap((one) => Object.values(one));
  t.is(new Set(all.map((key) => Buffer.from(key).toString('hex'))).size, 8);
  t.true(all.every((key) => key.length === 32));
});
