import { randomUUID } from 'node:crypto';
import test from 'ava';
import { migrate } from '../../../server/db/migrate.ts';
import { embeddedDatabase } from '../../support/database.ts';

const UPLOADED = '2026-11-01T00:00:00.000Z';

test('at the upgrade the defaults are trusted, and what no application brought', async (t) => {
  const { database, store } = await embeddedDatabase(t);
  const run = (sql: string, values: readonly unknown[] = []) => database.em.fork().execute(sql, [...values]);
  await run('alter table certs drop column trusted_at, drop column trusted_by');
  await run('alter table channel_states drop column trust_revision');
  await run(`delete from schema_migrations where name = '0005-cert-trust'`);
  await run(
    `insert into admins (id, username, password_hash, role, enabled, generation, created_at, updated_at)
     values (?, 'alice', 'x', 'admin', true, 1, now(), now())`,
    [randomUUID()],
  );
  await run(
    `insert into channel_states (id, project, pay_way, version, enabled, updated_at) values (?, 'p', 'alipay', 1, true, now())`,
    [randomUUID()],
  );
  const rows: [
    name: string,
    kind: string,
    by: string,
    isDefault: boolean,
    deleted: boolean,
    trustedBy: string | null,
  ][] = [
    ['the default, whoever brought it', 'alipay_public_key', 'app_mole', true, false, 'migration'],
    ['another one of an application', 'alipay_public_key', 'app_mole', false, false, null],
    ['another one of an administrator', 'alipay_public_key', 'alice', false, false, 'migration'],
    ['one of an administrator who is gone', 'wechat_public_key', 'bob', false, false, null],
    ["one of Debug's simulator", 'wechat_platform_cert', 'simulator', false, false, 'simulator'],
    ['the default root', 'alipay_root_cert', 'app_mole', true, false, 'migration'],
    ['a deleted one', 'alipay_public_cert', 'alice', false, true, null],
    ['what signs', 'alipay_app_key', 'alice', true, false, null],
  ];
  for (const [name, kind, by, isDefault, deleted] of rows)
    await run(
      `insert into certs (id, project, pay_way, kind, name, fingerprint, is_default, created_by, created_at, deleted_at)
       values (?, 'p', ?, ?, ?, 'f', ?, ?, ?, ?)`,
      [randomUUID(), kind.split('_')[0], kind, name, isDefault, by, UPLOADED, deleted ? UPLOADED : null],
    );
  await migrate(database);
  const certs = await store.read((tx) => tx.certs.list({}));
  for (const [name, , , , , trustedBy] of rows) {
    const cert = certs.find((one) => one.name === name);
    t.is(cert?.trustedBy, trustedBy, name);
    t.is(cert?.trustedAt?.toISOString() ?? null, trustedBy === null ? null : UPLOADED, name);
  }
  t.is((await store.read((tx) => tx.channelStates.find({ project: 'p' })))?.trustRevision, 0);
});
