import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { rotateSeals } from '../../../server/offline/rotate-seals.ts';
import type { Config } from '../../../config/config.ts';
import { createSealing, type MasterKey } from '../../../server/credentials/sealing.ts';
import { by } from '../../../server/identity/audit.ts';
import { deriveAuditKey } from '../../../server/identity/audit-keys.ts';
import { appendAudit, auditRows, rewriteAudit } from '../../support/audit-forger.ts';
import { auditKey } from '../../support/audit-keys.ts';
import { postgresDatabase } from '../../support/database.ts';
import { actor, world } from '../../support/identity-world.ts';
import { createClock } from '../../support/service.ts';

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

test('one line deleted, another rewritten, all hashed anew: found', async (t) => {
  const { store, verify, write } = await logOf(t, 5);
  t.deepEqual([(await verify()).lines, (await verify()).broken], [5, undefined]);
  const [first, , third, ...rest] = await auditRows(store);
  await rewriteAudit(store, [first!, { ...third!, actor: 'somebody else' }, ...rest]);
  t.is((await verify()).broken?.reason, 'key_unknown');
  await write();
  t.is((await verify()).broken?.reason, 'key_unknown', 'a genuine line behind them does not vouch for them');
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

test('a line without a key is accepted nowhere: not on the first day, not later, and no line behind it vouches for it', async (t) => {
  const { store, verify, clock, identity, write } = await logOf(t, 1);
  const id = await appendAudit(store, clock.now());
  t.deepEqual((await verify()).broken, { id, reason: 'key_unknown' });
  await write();
  await identity.anchorAudit();
  clock.advance(25 * HOUR);
  await write();
  t.deepEqual((await verify()).broken, { id, reason: 'key_unknown' });
  t.deepEqual(
    (await verify({ acceptUntil: BigInt(id) })).broken,
    { id, reason: 'key_unknown' },
    'whatever is said of it',
  );
});

const masterKey = (id: string): MasterKey => ({ id, key: randomBytes(32) });

test('after a change of master keys the log verifies without the old one', async (t) => {
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
    await rotateSeals(store, { security: { masterKeys } } as Config, { audit: identity.audit, now: clock.now }, actor);
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
  t.like(await last.verifyAudit(), { lines: 9, broken: undefined });
  t.is(await on.store.read((tx) => tx.auditKeys.count({})), 2);
  const sealed = await on.store.read((tx) => tx.auditKeys.list({}));
  for (const one of sealed) t.notThrows(() => createSealing([young]).rewrap(one.sealed));

  // Whoever has got hold of the key that was rotated away writes nothing new with it.
  clock.advance(100 * HOUR);
  const id = await appendAudit(on.store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await last.verifyAudit()).broken, { id, reason: 'key_former' });
  const acceptUntil = BigInt(id);
  t.is(
    (await last.verifyAudit({ acceptUntil })).broken,
    undefined,
    'an operator knows of a replica that was left behind',
  );
  await appendAudit(on.store, clock.now(), deriveAuditKey(old));
  t.is((await last.verifyAudit({ acceptUntil })).broken?.reason, 'key_former', 'and only up to there');
});

test('a key that was rotated away and never wrote is a former one as well', async (t) => {
  const [old, young] = [masterKey('aaaaaaaa'), masterKey('bbbbbbbb')];
  const clock = createClock();
  const on = await postgresDatabase(t);
  const masterKeys = [young, old];
  const { store, identity } = await world(on, { masterKeys, now: clock.now });
  await rotateSeals(store, { security: { masterKeys } } as Config, { audit: identity.audit, now: clock.now }, actor);
  clock.advance(100 * HOUR);
  const id = await appendAudit(store, clock.now(), deriveAuditKey(old));
  t.deepEqual((await identity.verifyAudit()).broken, { id, reason: 'key_former' });
});
