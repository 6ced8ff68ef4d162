import { argon2id, hash } from 'argon2';
import test from 'ava';
import { commonPasswords, leakedCount } from '../../../server/identity/common-passwords.ts';
import { createPasswords, requireGoodPassword } from '../../../server/identity/passwords.ts';

const passwords = createPasswords();
const decided = /^\$argon2id\$v=19\$m=19456,(t=2,p=1|p=1,t=2)\$/;

test('hashes use argon2id with the specified parameters', async (t) => {
  const digest = await passwords.hash('seven-quiet-otters-swim');
  t.regex(digest, decided);
  t.true(await passwords.verify(digest, 'seven-quiet-otters-swim'));
  t.false(await passwords.verify(digest, 'seven-quiet-otters-swam'));
  t.false(passwords.isOutdated(digest));
  t.regex(await passwords.decoy(), decided);
});

test('a hash with other parameters is outdated', async (t) => {
  const old = await hash('x', { type: argon2id, memoryCost: 8192, timeCost: 2, parallelism: 1 });
  t.true(passwords.isOutdated(old));
});

test('a preceding limit check can stop the verification', async (t) => {
  const digest = await passwords.decoy();
  const stop = () => Promise.reject(new Error('limited'));
  await t.throwsAsync(passwords.verify(digest, 'x', stop), { message: 'limited' });
});

test('short, huge, common and weak passwords are refused', (t) => {
  const bad = [
    'elevenchars',
    'x'.repeat(1025),
    'ü'.repeat(600),
    'password1234',
    'Password1234!!',
    '!!!changeme123456',
    'qwertyuiop123',
    'letmeinletmein',
    'aaaaaaaaaaaaaaaa',
    'administrator',
    'operations2026!',
    'my-operations-1',
    '2026operations!!',
    'operationsoperations',
    'operations.snoitarepo',
    'payment-service-1',
    'Unified Payment Service',
    'payctl-admin-2026',
    'P@yments!2026',
  ];
  for (const password of bad)
    t.throws(() => requireGoodPassword(password, 'operations'), { message: /password/ }, password.slice(0, 30));
  for (const good of [
    'seven-quiet-otters-swim',
    'пароль-из-многих-букв',
    'correct horse 9 battery',
    'admin-многих-букв',
  ])
    t.notThrows(() => requireGoodPassword(good, 'operations'), good);
  t.true(commonPasswords.size >= 200);
});

test('sequences, keyboard walks and repetitions are refused with any surrounding text', (t) => {
  const bad = [
    'Aa123456789!',
    '1qaz@wsx3edc',
    '1qaz2wsx#EDC',
    'zaq1xsw2cde3',
    '!QAZ@WSX#EDC',
    'Abcd1234!@#$',
    'Qwerty!23456',
    '1q2w3e4r5t6y!',
    'aabbccddeeff',
    'aaaabbbbcccc',
    'zyxwvutsrqponm',
    'Xkcd12345678',
    '09876543210000',
    'k7#mzk7#mzk7#mz',
  ];
  for (const password of bad) t.throws(() => requireGoodPassword(password, 'alice'), { message: /too weak/ }, password);
  const good = ['kT9#mQx7Lw2!', 'Desert-Freed', 'hijacked-first-nope', 'we were fed poppies', '9f86d081884c7d65'];
  for (const password of good) t.notThrows(() => requireGoodPassword(password, 'alice'), password);
});

test('a common word is refused even with signs and digits in place of letters', (t) => {
  const bad = ['P4$$w0rd!2026', '$3cr3t123456', 'L3tm31n!!!2026', '!!Chr1st0ph3r', 'W3lc0me@2026', 'Al1p4y@123456'];
  for (const password of [...bad, '0p3r4t10ns@2026', 'P@ym3nt$-2026'])
    t.throws(() => requireGoodPassword(password, 'operations'), { message: /too weak/ }, password);
});

test('a frequently leaked password is refused, also with common additions', (t) => {
  t.true(leakedCount >= 3000);
  const bad = [
    'needforspeed',
    'Christopher1',
    'jamesbond007',
    '123456789987654321',
    'q1w2e3r4t5y6u7i8',
    'charlie123456',
    'Mustang2025!',
    '!!jennifer!!1990',
    'chelseachelsea',
    'arsenal1arsenal1',
    'Liverpool@1234',
  ];
  for (const password of bad) t.throws(() => requireGoodPassword(password, 'alice'), { message: /too weak/ }, password);
  const good = ['seven-quiet-otters-swim', 'charlie-went-to-norway', 'my mustang eats blue hay', 'vTx3-charlie-09qL'];
  for (const password of good) t.notThrows(() => requireGoodPassword(password, 'alice'), password);
});
