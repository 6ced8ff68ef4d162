import test from 'ava';
import { argon2id, hash } from 'argon2';
import { randomUUID } from 'node:crypto';
import { createRateLimits } from '../../../server/db/rate-limits.ts';
import * as offline from '../../../server/identity/offline.ts';
import { applyBootstrap } from '../../../server/identity/offline.ts';
import { sessionRow } from '../../../server/identity/confirm.ts';
import { ProjectChange } from '../../../server/routes/schemas/audience.ts';
import { postgresDatabase } from '../../support/database.ts';
import { account, actor, from, world } from './identity-world.ts';

const DAY_MS = 86_400_000;

test('the first administrator is created once, with a valid name and password', async (t) => {
  const { ports, store } = await world(await postgresDatabase(t));
  const create = (more: object) => offline.createFirstAdmin(ports, actor, { ...account, ...more });
  await t.throwsAsync(create({ password: 'password1234' }), { message: /password/ });
  await t.throwsAsync(create({ username: 'a b' }), { message: /username/ });
  t.is(await offline.countAdmins(store), 0);
  t.is((await create({ password: offline.generatePassword() })).username, 'alice');
  await t.throwsAsync(create({ username: 'bob' }), { instanceOf: offline.AlreadyBootstrapped });
  const [line] = await store.read((tx) => tx.audit.list({ action: 'bootstrap.admin' }));
  t.like(line, { actorKind: 'offline', actor: 'tester@test', target: 'alice' });
});

/** Names at the limits of what the API accepts for a project. */
const NAMES = [
  '',
  'x',
  ' ',
  '茶'.repeat(128),
  '😀'.repeat(128),
  '茶'.repeat(129),
  'a\u0000b',
  'a\u001bb',
  'a\u0085b',
  'a\nb',
];

test('a name that payers see is refused offline where the API refuses it', (t) => {
  const refused = NAMES.filter((name) => offline.nameFault(name) !== undefined);
  t.deepEqual(
    refused,
    NAMES.filter((name) => !ProjectChange.safeParse({ name }).success),
  );
  t.true(refused.length > 3 && refused.length < NAMES.length - 3);
});

test('the first administrator and the name that payers see are written together, or neither', async (t) => {
  const { ports, store } = await world(await postgresDatabase(t));
  const nameNow = async () => (await store.read((tx) => tx.projects.find({ code: 'default' })))?.name;
  const create = (more: object) => offline.createFirstAdmin(ports, actor, { ...account, ...more });
  const error = await t.throwsAsync(create({ merchantName: 'a\u001bb' }), { name: 'InvalidRequest' });
  t.like(error, { options: { errors: [{ pointer: '/merchantName', detail: 'must not contain control characters' }] } });
  t.deepEqual([await offline.countAdmins(store), await nameNow()], [0, 'Default']);
  await create({ merchantName: 'Blue Door' });
  t.is(await nameNow(), 'Blue Door');
  const [line] = await store.read((tx) => tx.audit.list({ action: 'project.update' }));
  t.like(line, { actorKind: 'offline', target: 'default', before: { name: 'Default' }, after: { name: 'Blue Door' } });
  await t.throwsAsync(create({ username: 'bob', merchantName: 'Red Door' }), {
    instanceOf: offline.AlreadyBootstrapped,
  });
  t.is(await nameNow(), 'Blue Door');
});

test('a bootstrap document names the first project once, and no project that has a name', async (t) => {
  const { ports, store } = await world(await postgresDatabase(t));
  const apply = async (name: string) => {
    const projects = ['default', 'books'].map((code) => ({ code, name: `${name} ${code}` }));
    return summary((await applyBootstrap(ports, actor, { projects })).applied);
  };
  t.deepEqual(await apply('First'), ['project updated', 'project created']);
  t.deepEqual(await apply('Second'), ['project unchanged', 'project unchanged']);
  const names = (await store.read((tx) => tx.projects.list({}))).map(({ name }) => name);
  t.deepEqual(names.toSorted(), ['First books', 'First default']);
  t.is((await store.read((tx) => tx.audit.list({ action: 'project.update' }))).length, 1);
});

test('resetting a password ends the sessions of the account', async (t) => {
  const { ports, identity } = await world(await postgresDatabase(t));
  await offline.createFirstAdmin(ports, actor, account);
  const { token } = await identity.sessions.login({ ...account, ...from });
  const next = { username: 'ALICE', password: 'ten-brave-little-foxes' };
  await offline.resetPassword(ports, actor, next);
  await t.throwsAsync(identity.authenticators.admin({ token, via: 'bearer', safe: true }));
  t.is((await identity.sessions.login({ ...next, ...from })).username, 'alice');
  await t.throwsAsync(offline.resetPassword(ports, actor, { ...next, username: 'bob' }), {
    message: /administrator was not found/,
  });
});

test('a login renews a hash with outdated parameters', async (t) => {
  const { ports, identity, store } = await world(await postgresDatabase(t));
  const { id } = await offline.createFirstAdmin(ports, actor, account);
  const old = await hash(account.password, { type: argon2id, memoryCost: 8192, timeCost: 2, parallelism: 1 });
  await store.transaction((tx) => tx.admins.update({ id }, { passwordHash: old }));
  await identity.sessions.login({ ...account, ...from });
  const renewed = await store.read((tx) => tx.admins.find({ id }));
  t.regex(renewed?.passwordHash ?? '', /m=19456/);
  await t.notThrowsAsync(identity.sessions.login({ ...account, ...from }));
});

interface Document {
  admins: { username: string; password: string }[];
  projects: { code: string; name: string }[];
  apps: { name: string; project?: string; scopes: string[]; allowedIps?: string[] }[];
}

const document: Document = {
  admins: [{ username: 'alice', password: account.password }],
  projects: [{ code: 'books', name: 'Books' }],
  apps: [
    { name: 'shop', scopes: ['payment:write'] },
    { name: 'shop', project: 'books', scopes: ['payment:read'], allowedIps: ['192.0.2.1'] },
  ],
};

test('a bootstrap document is applied once, and later runs change only differences and no password', async (t) => {
  const { ports, identity, store } = await world(await postgresDatabase(t));
  const first = await applyBootstrap(ports, actor, document);
  t.deepEqual(summary(first.applied), ['project created', 'admin created', 'app created', 'app created']);
  t.true(first.applied.slice(2).every(({ secret }) => secret?.startsWith('pays_')));
  const again = await applyBootstrap(ports, actor, document);
  t.false(again.changed);
  t.true(again.applied.every(({ secret }) => secret === undefined));
  const changed = structuredClone(document);
  changed.admins[0] = { username: 'alice', password: 'ten-brave-little-foxes' };
  changed.apps[1] = { name: 'shop', project: 'books', scopes: ['payment:read', 'user:read'] };
  const third = await applyBootstrap(ports, actor, changed);
  t.deepEqual(summary(third.applied), ['project unchanged', 'admin unchanged', 'app unchanged', 'app updated']);
  const [app] = await store.read((tx) => tx.apps.list({ project: 'books', kind: 'merchant' }));
  t.like(app, { scopes: ['payment:read', 'user:read'], allowedIps: ['192.0.2.1/32'] });
  t.is((await identity.sessions.login({ ...account, ...from })).username, 'alice');
});

test('an invalid bootstrap document changes nothing', async (t) => {
  const { ports, store } = await world(await postgresDatabase(t));
  const bad = [
    { ...document, admin: [] },
    { ...document, admins: [{ username: 'alice' }] },
    { ...document, projects: [{ code: 'default', name: 'a\u001bb' }] },
    { ...document, apps: [{ name: 'a\u001bb', scopes: ['payment:read'] }] },
    { ...document, apps: [...document.apps, { name: 'x', scopes: ['admin'] }] },
    { ...document, apps: [...document.apps, { name: 'x', project: 'nowhere', scopes: ['user:read'] }] },
    'text',
  ];
  for (const one of bad) await t.throwsAsync(applyBootstrap(ports, actor, one), { name: 'InvalidRequest' });
  t.is(await offline.countAdmins(store), 0);
  t.is(await store.read((tx) => tx.apps.count({ kind: 'merchant' })), 0);
  t.is(await store.read((tx) => tx.projects.count({})), 1);
});

test('the clean-up deletes only expired revocations and windows, even on a replica whose clock is ahead', async (t) => {
  const on = await postgresDatabase(t);
  const { store, identity, database } = await world(on);
  const ahead = await world(on, { now: () => new Date(Date.now() + 300 * DAY_MS) });
  const expiresAt = (days: number) => new Date(Date.now() + days * DAY_MS);
  const row = (jti: string, days: number) => ({
    jti,
    owner: 'x',
    expiresAt: expiresAt(days),
    revokedAt: new Date(),
  });
  const session = { adminId: randomUUID(), generation: 1, ttlSeconds: 3600 };
  await store.transaction(async (tx) => {
    for (const [jti, days] of [
      ['live', 0.01],
      ['just-over', -0.9],
      ['over', -1.1],
    ] as const) {
      await tx.revokedTokens.insert(row(jti, days));
      await tx.sessions.insert({ ...sessionRow({ ...session, jti }, new Date()), expiresAt: expiresAt(days) });
    }
  });
  t.is(await ahead.identity.deleteExpiredRevocations(), 1);
  t.is(await ahead.identity.deleteExpiredSessions(), 1);
  t.is(await identity.deleteExpiredRevocations(), 0);
  t.is(await store.read((tx) => tx.revokedTokens.count({ jti: ['live', 'just-over'] })), 2);
  t.is(await store.read((tx) => tx.sessions.count({ jti: ['live', 'just-over'] })), 2);
  const limits = createRateLimits(database);
  await limits.consume('short', 5, 1);
  await limits.consume('long', 5, 600);
  t.is(await limits.deleteExpired(new Date(Date.now() + 60_000)), 1);
});

function summary(applied: { kind: string; done: string }[]): string[] {
  return applied.map(({ kind, done }) => `${kind} ${done}`);
}
