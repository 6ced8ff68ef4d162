import test from 'ava';
import { Secret } from 'otpauth';
import { type MasterKey, rotateMasterKey } from '../../../server/db/encryption.ts';
import * as offline from '../../../server/identity/offline.ts';
import { newRecoveryCode, newTotpSecret, readRecoveryCode, stepOfCode } from '../../../server/identity/codes.ts';
import { sessionRow } from '../../../server/identity/confirm.ts';
import { auditMaster } from '../../support/audit-keys.ts';
import { postgresDatabase } from '../../support/database.ts';
import { account, actor, from, world } from './identity-world.ts';
import { codeAt, wrongCode } from '../../support/second-factor.ts';

test('codes match RFC 6238, appendix B, with six digits', (t) => {
  const secret = Secret.fromUTF8('12345678901234567890').base32;
  const vectors: [number, string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ];
  for (const [seconds, code] of vectors)
    t.is(stepOfCode(secret, code, new Date(seconds * 1000)), BigInt(Math.floor(seconds / 30)), String(seconds));
});

test('a code of the current or previous step is accepted and returns its step', (t) => {
  const secret = newTotpSecret();
  t.regex(secret, /^[A-Z2-7]{32}$/);
  const at = new Date('2030-01-31T08:00:10.000Z');
  const now = BigInt(Math.floor(at.getTime() / 30_000));
  for (const steps of [-1, 0])
    t.is(stepOfCode(secret, codeAt(secret, at.getTime() + steps * 30_000), at), now + BigInt(steps));
  for (const steps of [-2, 1, 2])
    t.is(stepOfCode(secret, codeAt(secret, at.getTime() + steps * 30_000), at), undefined);
  for (const code of ['', '12345', '1234567', 'abcdef', '12 345', wrongCode(secret, at)])
    t.is(stepOfCode(secret, code, at), undefined, code);
});

test('a recovery code has 120 bits and is accepted in every spelling, and any other text is rejected', (t) => {
  const code = newRecoveryCode();
  t.regex(code, /^([0-9a-hjkmnp-tv-z]{6}-){3}[0-9a-hjkmnp-tv-z]{6}$/);
  t.not(newRecoveryCode(), code);
  const letters = code.replaceAll('-', '');
  for (const typed of [code, code.toUpperCase(), letters, code.replaceAll('-', ' '), ` ${code} `])
    t.is(readRecoveryCode(typed), letters);
  t.is(readRecoveryCode('OIL000-000000-000000-000000'), '011000000000000000000000');
  for (const other of ['492039', '492 039', letters.slice(1), `${letters}0`, letters.replace(/^./, 'u'), ''])
    t.is(readRecoveryCode(other), undefined, other);
});

/** An administrator with a second factor; `enter` logs in with the code of a later step each time. */
async function enrolled(on: Parameters<typeof world>[0], masterKeys?: MasterKey[]) {
  let time = Date.now();
  const now = () => new Date(time);
  const place = await world(on, { masterKeys, now });
  const admin = await offline.createFirstAdmin(place.ports, actor, account);
  const session = { id: admin.id, username: admin.username, jti: 'j' };
  const begun = sessionRow({ jti: 'j', adminId: admin.id, generation: 1, ttlSeconds: 3600 }, now());
  await place.store.transaction((tx) => tx.sessions.insert(begun));
  const { secret } = await place.identity.secondFactors.start(session, actor);
  await place.identity.secondFactors.confirm(session, actor, codeAt(secret, time));
  const enter = (identity = place.identity) => {
    time += 30_000;
    return identity.sessions.login({ ...account, ...from, code: codeAt(secret, time) });
  };
  return { ...place, enter, now };
}

test('an offline reset of the second factor ends the sessions and is written to the audit log', async (t) => {
  const { ports, identity, store, enter } = await enrolled(await postgresDatabase(t));
  const { token } = await enter();
  await t.throwsAsync(identity.sessions.login({ ...account, ...from }), { code: 'second_factor_required' });
  t.is((await offline.resetSecondFactor(ports, actor, 'ALICE')).username, 'alice');
  await t.throwsAsync(identity.authenticators.admin({ token, via: 'bearer', safe: true }));
  t.is((await identity.sessions.login({ ...account, ...from })).secondFactor, 'none');
  const [line] = await store.read((tx) => tx.audit.list({ action: 'admin.reset-second-factor' }));
  t.like(line, { actorKind: 'offline', actor: 'tester@test', target: 'alice' });
  t.is(await store.read((tx) => tx.recoveryCodes.count({})), 0);
  for (const name of ['alice', 'nobody'])
    await t.throwsAsync(offline.resetSecondFactor(ports, actor, name), { message: /was not found/ });
});

test('a rotation of master keys includes the secrets of second factors', async (t) => {
  const database = await postgresDatabase(t);
  const next: MasterKey = { id: '11111111', key: Buffer.alloc(32, 3) };
  const { enter, store, now } = await enrolled(database, [auditMaster]);
  await t.notThrowsAsync(enter());
  const { rewrapped } = await rotateMasterKey(store, [next, auditMaster]);
  t.is(rewrapped, 1);
  const { identity } = await world(database, { masterKeys: [next], now });
  await t.notThrowsAsync(enter(identity));
});
