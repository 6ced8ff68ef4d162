import test from 'ava';
import { dropOldQueue } from '../../server/db/queries/old-queue.ts';
import type { Store } from '../../server/db/store.ts';
import { postgresDatabase } from '../support/database.ts';

/** What matters of the schema that pg-boss 12 makes. */
const SCHEMA = [
  'create schema pgboss',
  'create table pgboss.version (version int primary key, cron_on timestamp with time zone)',
  'create table pgboss.queue (name text primary key)',
  'create table pgboss.job (id uuid, created_on timestamp with time zone, name text references pgboss.queue (name)) partition by list (name)',
  `create table pgboss.job_common partition of pgboss.job default`,
  `insert into pgboss.queue values ('deliver-event'), ('capture'), ('refund-check'), ('clean-up'), ('certificate-expiry'),
     ('__pgboss__send-it')`,
  `insert into pgboss.job values (gen_random_uuid(), now() - interval '23 hours', 'capture')`,
];

const drop = (store: Store) => store.transaction(dropOldQueue);
const isThere = async (store: Store): Promise<boolean> => {
  const [row] = await store.read((tx) =>
    tx.sql<{ there: boolean }>(`select to_regnamespace('pgboss') is not null as there`),
  );
  return row!.there;
};

test('the queue of an older release stays while one of its replicas runs, and goes a day after the last sign of it', async (t) => {
  const { store } = await postgresDatabase(t);
  t.false(await drop(store), 'there was never one');
  await store.transaction(async (tx) => {
    for (const statement of SCHEMA) await tx.sql(statement);
    await tx.sql(`insert into pgboss.version values (37, now() - interval '23 hours')`);
  });
  t.false(await drop(store));
  t.true(await isThere(store));
  await store.transaction((tx) => tx.sql(`update pgboss.version set cron_on = now() - interval '25 hours'`));
  t.false(await drop(store), 'a replica without its timetable still sends');
  await store.transaction((tx) => tx.sql(`update pgboss.job set created_on = now() - interval '25 hours'`));
  t.true(await drop(store));
  t.false(await isThere(store));
  t.false(await drop(store));
});

test('a queue that somebody else keeps in the same schema is left alone', async (t) => {
  const { store } = await postgresDatabase(t);
  await store.transaction(async (tx) => {
    for (const statement of SCHEMA) await tx.sql(statement);
    await tx.sql(`insert into pgboss.version values (37, now() - interval '2 days')`);
    await tx.sql(`update pgboss.job set created_on = null`);
    await tx.sql(`insert into pgboss.queue values ('send-newsletter')`);
  });
  t.false(await drop(store));
  await store.transaction((tx) => tx.sql(`delete from pgboss.queue where name = 'send-newsletter'`));
  t.true(await drop(store));
});
