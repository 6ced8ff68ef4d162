import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { reencryptAll } from '../../../server/offline/open.ts';
import type { Config } from '../../../config/config.ts';
import { createEncryption, type MasterKey } from '../../../server/db/encryption.ts';
import { by, deriveAuditKey, type AuditKey, chainHash, firstHash } from '../../../server/identity/audit.ts';
import type { AuditKnowledge } from '../../../server/identity/audit-proof.ts';
import { applyBootstrap, createFirstAdmin } from '../../../server/identity/offline.ts';
import { auditKey } from '../../support/audit-keys.ts';
import { postgresDatabase } from '../../support/database.ts';
import { account, actor, world } from './identity-world.ts';
import { createClock } from '../../support/service.ts';
import type { AuditRow } from '../../../server/db/entities/identity.ts';
import type { Store } from '../../../server/db/store.ts';

/** All lines of the audit log, in order. */
function auditRows(store: Store): Promise<AuditRow[]> {
  return store.read((tx) => tx.audit.list({}, { orderBy: { id: 'asc' } }));
}

/** No key, as for an attacker with write access to the database only. */
const NONE: AuditKey = { id: '', key: new Uint8Array() };

/** Replaces the whole log with these lines, hashed again with or without a key. */
async function rewriteAudit(store: Store, rows: readonly AuditRow[], key = NONE): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`delete from audit_log`;
    let previousHash = firstHash;
    for (const { hash: _, ...row } of rows) {
      const line = { ...row, previousHash, keyId: key.id };
      previousHash = chainHash(line, key);
      await tx.audit.insert({ ...line, hash: previousHash });
    }
  });
}

/** Appends a line, hashed with or without a key. */
async function appendAudit(store: Store, at: Date, key = NONE): Promise<string> {
  return store.transaction(async (tx) => {
    const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    const line = {
      at,
      actorKind: 'admin',
      actor: 'bob',
      action: 'app.update',
      target: 'app_1',
      before: null,
      after: null,
      ip: null,
      requestId: null,
      previousHash: last?.hash ?? firstHash,
      keyId: key.id,
    };
    await tx.audit.insert({ ...line, hash: chainHash(line, key) });
    const [written] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    return String(written?.id);
  });
}

const HOUR = 3600;

/** A log of `count` keyed lines. */
async function logOf(t: ExecutionContext, count: number) {
  const clock = createClock();
  const on = await postgresDatabase(t);
  const { store, identity } = await world(on, clock);
  const write = (action = 'app.update') =>
    store.transaction((tx) => identity.audit(tx, { ...by(actor), action, target: 'app_1' }));
  for (let at = 0; at < count; at += 1) await write(`step.${at}`);
  return { on, store, identity, clock, write, verify: identity.verifyAudit };
}

test('a log with a deleted and a changed line is found broken, even if all lines are hashed again', async (t) => {
  const { store, verify, write } = await logOf(t, 5);
  t.deepEqual([(await verify()).lines, (await verify()).broken], [5, undefined]);
  const [first, , third, ...rest] = await auditRows(store);
  await rewriteAudit(store, [first!, { ...third!, actor: 'somebody else' }, ...rest]);
  t.is((await verify()).broken?.reason, 'key_unknown');
  await write();
  t.is((await verify()).broken?.reason, 'key_unknown', 'a genuine line behind them does not vouch for them');
});

test('a line hashed with a foreign key is rejected, whatever key id it names', async (t) => {
  const { store, verify } = await logOf(t, 3);
  const rows = await auditRows(store);
  await rewriteAudit(store, rows, { id: auditKey.id, key: randomBytes(32) });
  t.is((await verify()).broken?.reason, 'line_changed');
  await rewriteAudit(store, rows, { id: 'of-my-own', key: randomBytes(32) });
  t.is((await verify()).broken?.reason, 'key_unknown');
});

test('a truncated log is found with an externally stored tip, even after new lines', async (t) => {
  const { on, clock, verify: verifyAsWriter, write } = await logOf(t, 4);
  const verify = (knowledge?: AuditKnowledge) =>
    world(on, clock).then(({ identity }) => identity.verifyAudit(knowledge));
  const { tip } = await verify();
  await write();
  t.is((await verify({ tip })).broken, undefined, 'an earlier tip is part of a longer log');
  await on.database.em.fork().execute('delete from audit_log where id > (select min(id) + 1 from audit_log)');
  t.is((await verify()).broken, undefined, 'nothing inside shows it to a process that was not there');
  t.is((await verifyAsWriter()).broken?.reason, 'lines_lost');
  t.deepEqual((await verify({ tip })).broken, { id: tip, reason: 'tip_missing' });
  await write();
  const acceptUntil = BigInt((await auditRows(on.store)).at(-1)!.id);
  t.deepEqual((await verify({ tip, acceptUntil })).broken, { id: tip, reason: 'tip_missing' });
});

const cutBehind = (id: bigint | string) => `delete from audit_log where id > ${id}`;

test('a truncated and continued log is found without a stored tip by every writer, and a restore is accepted by name', async (t) => {
  const { on, clock, verify, write } = await logOf(t, 4);
  const other = await world(on, clock);
  await other.store.transaction((tx) => other.identity.audit(tx, { ...by(actor), action: 'app.update', target: 'b' }));
  const [first] = await auditRows(on.store);
  await on.database.em.fork().execute(cutBehind(first!.id));
  t.is((await verify()).broken?.reason, 'lines_lost', 'the process that wrote them reads what is left');
  await write('step.again');
  const rows = await auditRows(on.store);
  t.deepEqual(
    rows.map(({ action }) => action),
    ['step.0', 'audit.lines-lost', 'step.again'],
  );
  const fresh = await world(on, clock);
  const id = String(rows[1]!.id);
  t.deepEqual((await fresh.identity.verifyAudit()).broken, { id, reason: 'lines_lost' }, 'a process that knew nothing');
  t.is(
    (await other.identity.verifyAudit({ acceptUntil: BigInt(id) })).broken,
    undefined,
    'the operator accepts the restore',
  );
  await other.identity.anchorAudit();
  const noted = (await auditRows(on.store)).filter(({ action }) => action === 'audit.lines-lost');
  t.is(noted.length, 2, 'the other process says hourly what it misses, also when nobody writes');
  t.is((await verify({ acceptUntil: BigInt(noted[1]!.id) })).broken, undefined);
  await write('step.last');
  t.is((await verify({ acceptUntil: BigInt(noted[1]!.id) })).broken, undefined, 'a loss is said once');
});

test('a rolled-back line is not reported as missing by any writer', async (t) => {
  const { store, identity, verify, write } = await logOf(t, 2);
  const entry = { ...by(actor), action: 'app.update', target: 'app_1' };
  await t.throwsAsync(
    store.transaction(async (tx) => {
      await identity.audit(tx, entry);
      throw new Error('rolled back');
    }),
  );
  await store.transaction(async (tx) => {
    const part = tx.savepoint(async () => {
      await identity.audit(tx, entry);
      throw new Error('taken back');
    });
    await t.throwsAsync(part);
  });
  await write();
  t.like(await verify(), { lines: 3, broken: undefined });
});

test('a log without the line of the first administrator is broken if an administrator exists, whether the log is empty or continued', async (t) => {
  const { on, store, clock, verify, write } = await logOf(t, 0);
  t.is((await verify()).broken, undefined, 'a fresh database');
  const { ports } = await world(on, clock);
  await createFirstAdmin(ports, actor, account);
  t.is((await verify()).broken, undefined);
  await on.database.em.fork().execute('truncate audit_log');
  const broken = { id: 'bootstrap.admin', reason: 'first_missing' };
  t.deepEqual((await verify()).broken, broken as never);
  await write();
  t.deepEqual((await verify()).broken, broken as never);
  t.is((await auditRows(store)).length, 1);
  const second = { username: 'second', password: 'nine-tidy-green-anchors' };
  // Written by processes that do not know of the missing lines.
  const { applied } = await applyBootstrap((await world(on, clock)).ports, actor, { admins: [second] });
  t.like(applied, [{ kind: 'admin', name: 'second', done: 'created' }]);
  const later = await (await world(on, clock)).identity.verifyAudit();
  t.deepEqual(later.broken, broken as never, 'an account that is made later is not the first one');
});

test('a line without a key is always rejected, and later lines do not make it valid', async (t) => {
  const { store, verify, clock, identity, write } = await logOf(t, 1);
  const id = await appendAudit(store, clock.now());
  t.deepEqual((await verify()).broken, { id, reason: 'key_unknown' });
  await write();
  await identity.anchorAudit();
  clock.advance(25 * HOUR);
  await write();
  t.deepEqual((await verify()).broken, { id, reason: 'key_unknown' });
  t.deepEqual((await verify({ acceptUntil: BigInt(id) })).broken, { id, reason: 'key_unknown' }, 'even if accepted');
});

const masterKey = (id: string): MasterKey => ({ id, key: randomBytes(32) });

test('a log verifies without the old key after a rotation of master keys', async (t) => {
  const [old, middle, young] = [masterKey('aaaaaaaa'), masterKey('bbbbbbbb'), masterKey('cccccccc')];
  const clock = createClock();
  const on = await postgresDatabase(t);
  const stage = (...masterKeys: MasterKey[]) => world(on, { masterKeys, now: clock.now });
  const write = async (...masterKeys: MasterKey[]) => {
    const { store, identity } = await stage(...masterKeys);
    await store.transaction((tx) => identity.audit(tx, { ...by(actor), action: 'app.update', target: 'app_1' }));
    return identity;
  };
  const rotate = async (...masterKeys: MasterKey[]) => {
    const { store, identity } = await stage(...masterKeys);
    await reencryptAll(store, { security: { masterKeys } } as Config, { audit: identity.audit, now: clock.now }, actor);
  };
  await write(old);
  clock.advance(100 * HOUR);
  // Replicas restart one after the other, so both keys write for a while.
  await write(middle, old);
  await write(old, middle);
  t.is((await (await write(middle, old)).verifyAudit()).broken, undefined);
  await rotate(middle, old);
  const dump = JSON.stringify(await on.store.read((tx) => tx.auditKeys.list({})));
  t.false(dump.includes(Buffer.from(deriveAuditKey(old).key).toString('base64')));
  t.is((await (await write(middle)).verifyAudit()).broken, undefined, 'the old key is dropped');
  clock.advance(100 * HOUR);
  await write(young, middle);
  await rotate(young, middle);
  const last = await write(young);
  t.like(await last.verifyAudit(), { lines: 9, broken: undefined });
  t.is(await on.store.read((tx) => tx.auditKeys.count({})), 2);
  const encrypted = await on.store.read((tx) => tx.auditKeys.list({}));
  for (const one of encrypted) t.notThrows(() => createEncryption([young]).rewrap(one.encrypted));

  // A stolen former key cannot write new lines.
  clock.advance(100 * HOUR);
  const id = await appendAudit(on.store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await last.verifyAudit()).broken, { id, reason: 'key_former' });
  const acceptUntil = BigInt(id);
  t.is((await last.verifyAudit({ acceptUntil })).broken, undefined, 'the operator accepts an outdated replica');
  await appendAudit(on.store, clock.now(), deriveAuditKey(old));
  t.is((await last.verifyAudit({ acceptUntil })).broken?.reason, 'key_former', 'and only up to there');
});

test('a rotated key that never wrote a line is a former key too', async (t) => {
  const [old, young] = [masterKey('aaaaaaaa'), masterKey('bbbbbbbb')];
  const clock = createClock();
  const on = await postgresDatabase(t);
  const masterKeys = [young, old];
  const { store, identity } = await world(on, { masterKeys, now: clock.now });
  await reencryptAll(store, { security: { masterKeys } } as Config, { audit: identity.audit, now: clock.now }, actor);
  clock.advance(100 * HOUR);
  const id = await appendAudit(store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await identity.verifyAudit()).broken, { id, reason: 'key_former' });
});
