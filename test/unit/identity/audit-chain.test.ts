import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { rotateSeals } from '../../../server/offline/rotate-seals.ts';
import type { Config } from '../../../config/config.ts';
import { createSealing, type MasterKey } from '../../../server/credentials/sealing.ts';
import { migrate } from '../../../server/db/migrate.ts';
import { by } from '../../../server/identity/audit.ts';
import { startKeyedAudit } from '../../../server/identity/audit-anchor.ts';
import { deriveAuditKey } from '../../../server/identity/audit-keys.ts';
import { appendAudit, auditRows, rewriteAudit } from '../../support/audit-forger.ts';
import { auditKey } from '../../support/audit-keys.ts';
import { embeddedDatabase, type TestDatabase } from '../../support/database.ts';
import { actor, world } from '../../support/identity-world.ts';
import { createClock } from '../../support/service.ts';

const HOUR = 3600;

/** A log of `count` keyed lines. */
async function logOf(t: ExecutionContext, count: number) {
  const clock = createClock();
  const on = await embeddedDatabase(t);
  const { store, identity } = await world(on, clock);
  const write = (action = 'app.update') =>
    store.transaction((tx) => identity.audit(tx, { ...by(actor), action, target: 'app_1' }));
  for (let at = 0; at < count; at += 1) await write(`step.${at}`);
  return { on, store, identity, clock, write, verify: identity.verifyAudit };
}

/** The database as the release before left it, with `count` lines, and then brought up to date. */
async function upgraded(t: ExecutionContext, count: number) {
  const log = await logOf(t, 0);
  const { on, store, clock } = log;
  await asBefore(on);
  for (let at = 0; at < count; at += 1) await appendAsBefore(on, clock.now());
  await migrate(on.database, startKeyedAudit({ now: clock.now, key: auditKey }));
  return { ...log, rows: await auditRows(store) };
}

async function asBefore({ database }: TestDatabase): Promise<void> {
  const run = (sql: string) => database.em.fork().execute(sql);
  await run('alter table audit_log drop column key_id');
  await run('drop table audit_keys');
  await run(`delete from schema_migrations where name = '0009-keyed-audit'`);
}

/** The release before knows nothing of the column. */
async function appendAsBefore({ store, database }: TestDatabase, at: Date): Promise<void> {
  const run = (sql: string) => database.em.fork().execute(sql);
  await run('alter table audit_log add column if not exists key_id varchar(64)');
  await appendAudit(store, at);
  await run('alter table audit_log drop column key_id');
}

test('one line deleted, another rewritten, all hashed anew: found', async (t) => {
  const { store, verify, write } = await logOf(t, 5);
  t.deepEqual([(await verify()).lines, (await verify()).broken], [5, undefined]);
  const [first, , third, ...rest] = await auditRows(store);
  await rewriteAudit(store, [first!, { ...third!, actor: 'somebody else' }, ...rest]);
  t.is((await verify()).broken?.reason, 'start_missing');
  await write();
  t.is((await verify()).broken?.reason, 'start_missing', 'a genuine line behind them does not vouch for them');
});

test('a key of somebody else makes no line, whatever it says that it is', async (t) => {
  const { store, verify } = await logOf(t, 3);
  const rows = await auditRows(store);
  await rewriteAudit(store, rows, { id: auditKey.id, key: randomBytes(32) });
  t.is((await verify()).broken?.reason, 'line_changed');
  await rewriteAudit(store, rows, { id: 'of-my-own', key: randomBytes(32) });
  t.is((await verify()).broken?.reason, 'key_unknown');
});

test('what was cut off the end is found by a tip that was kept elsewhere, lines written since do not hide it', async (t) => {
  const { on, verify, write } = await logOf(t, 4);
  const { tip } = await verify();
  await write();
  t.is((await verify({ tip })).broken, undefined, 'an earlier tip is part of a longer log');
  await on.database.em.fork().execute('delete from audit_log where id > (select min(id) + 1 from audit_log)');
  t.is((await verify()).broken, undefined, 'nothing inside shows it');
  t.deepEqual((await verify({ tip })).broken, { id: tip, reason: 'tip_missing' });
  await write();
  t.deepEqual((await verify({ tip })).broken, { id: tip, reason: 'tip_missing' });
});

test('lines of the release before verify up to the keyed one of the upgrade, and cannot be changed after it', async (t) => {
  const { store, verify, rows } = await upgraded(t, 3);
  t.deepEqual(
    rows.map(({ action, keyId }) => [action, keyId]),
    [
      ['app.update', null],
      ['app.update', null],
      ['app.update', null],
      ['audit.keyed', auditKey.id],
    ],
  );
  t.like(await verify(), { lines: 4, unkeyed: 3, broken: undefined });
  const [first, second] = rows;
  await rewriteAudit(store, [first!, { ...second!, actor: 'somebody else' }]);
  const [, forged] = await auditRows(store);
  await store.transaction((tx) => tx.audit.insert({ ...rows[3]!, previousHash: forged!.hash }));
  t.is((await verify()).broken?.reason, 'line_changed');
});

test('an upgrade of an empty log needs no line', async (t) => {
  const { verify, rows, write } = await upgraded(t, 0);
  t.deepEqual(rows, []);
  await write();
  t.like(await verify(), { lines: 1, unkeyed: 0, broken: undefined });
});

test('replicas of the release before write among the new ones for a day, and the jobs vouch for their lines', async (t) => {
  const { store, verify, clock, identity, write } = await upgraded(t, 1);
  clock.advance(2 * HOUR);
  await appendAudit(store, clock.now());
  t.is((await verify()).broken, undefined, 'at the end of the log, too');
  await write();
  await appendAudit(store, clock.now());
  const tip = await identity.anchorAudit();
  t.is((await auditRows(store)).at(-1)?.action, 'audit.anchor');
  t.is((await auditRows(store)).at(-1)?.hash, tip);
  t.is(await identity.anchorAudit(), tip, 'once is enough');
  clock.advance(100 * HOUR);
  t.like(await verify(), { unkeyed: 3, broken: undefined });
});

test('a line without a key that comes later is found, whatever date it has', async (t) => {
  const { store, verify, clock, write } = await upgraded(t, 1);
  const upgradedAt = clock.now();
  clock.advance(25 * HOUR);
  const id = await appendAudit(store, upgradedAt);
  t.deepEqual((await verify()).broken, { id, reason: 'line_unkeyed' });
  await write();
  t.deepEqual((await verify()).broken, { id, reason: 'line_unkeyed' });
  t.is((await verify({ acceptUntil: BigInt(id) })).broken, undefined, 'who knows that the release before ran says so');
  await appendAudit(store, upgradedAt);
  t.is((await verify({ acceptUntil: BigInt(id) })).broken?.reason, 'line_unkeyed', 'and only up to there');
});

test('a log that never had another release takes no line without a key after its first day', async (t) => {
  const { store, verify, clock } = await logOf(t, 2);
  clock.advance(25 * HOUR);
  const id = await appendAudit(store, clock.now());
  t.deepEqual((await verify()).broken, { id, reason: 'line_unkeyed' });
});

const masterKey = (id: string): MasterKey => ({ id, key: randomBytes(32) });

test('after a change of master keys the log verifies without the old one', async (t) => {
  const [old, middle, young] = [masterKey('aaaaaaaa'), masterKey('bbbbbbbb'), masterKey('cccccccc')];
  const clock = createClock();
  const on = await embeddedDatabase(t);
  const stage = (...masterKeys: MasterKey[]) => world(on, { masterKeys, now: clock.now });
  const write = async (...masterKeys: MasterKey[]) => {
    const { store, identity } = await stage(...masterKeys);
    await store.transaction((tx) => identity.audit(tx, { ...by(actor), action: 'app.update', target: 'app_1' }));
    return identity;
  };
  const rotate = async (...masterKeys: MasterKey[]) => {
    const { store, identity } = await stage(...masterKeys);
    await rotateSeals(store, { security: { masterKeys } } as Config, identity.audit, actor);
  };
  await write(old);
  clock.advance(100 * HOUR);
  // Replicas are restarted one after the other: for a while both keys write.
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
  t.like(await last.verifyAudit(), { lines: 9, unkeyed: 0, broken: undefined });
  t.is(await on.store.read((tx) => tx.auditKeys.count({})), 2);
  const sealed = await on.store.read((tx) => tx.auditKeys.list({}));
  for (const one of sealed) t.notThrows(() => createSealing([young]).rewrap(one.sealed));

  // Whoever has got hold of the key that was rotated away writes nothing new with it.
  clock.advance(100 * HOUR);
  const id = await appendAudit(on.store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await last.verifyAudit()).broken, { id, reason: 'key_former' });
});

test('a key that was rotated away and never wrote is a former one as well', async (t) => {
  const [old, young] = [masterKey('aaaaaaaa'), masterKey('bbbbbbbb')];
  const clock = createClock();
  const on = await embeddedDatabase(t);
  const masterKeys = [young, old];
  const { store, identity } = await world(on, { masterKeys, now: clock.now });
  await rotateSeals(store, { security: { masterKeys } } as Config, identity.audit, actor);
  clock.advance(100 * HOUR);
  const id = await appendAudit(store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await identity.verifyAudit()).broken, { id, reason: 'key_former' });
});
