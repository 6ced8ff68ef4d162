import test from 'ava';
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureEmbeddedSecrets } from '../../../config/embedded-secrets.ts';
import { ConfigFaults } from '../../../config/faults.ts';
import { loadConfig } from '../../../config/load.ts';
import { temporaryFolder } from '../../support/folder.ts';

const mode = (path: string) => statSync(path).mode & 0o777;

test('the two secrets are created once in files that only the owner can read, and are named as the source', async (t) => {
  const cwd = temporaryFolder(t);
  const first = await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd }));
  const folder = join(cwd, 'data/pglite-secrets');
  t.deepEqual(readdirSync(folder).toSorted(), ['jwt-secret-key', 'master-key']);
  t.is(mode(folder), 0o700);
  t.is(mode(join(folder, 'jwt-secret-key')), 0o600);
  t.is(mode(join(folder, 'master-key')), 0o600);
  t.true(Buffer.byteLength(first.jwt.secretKey) >= 32);
  t.is(first.security.masterKeys.length, 1);
  t.not(first.security.masterKeys[0]?.key.toString('base64'), first.jwt.secretKey);
  t.is(first.sources['Security.MasterKey'], join(folder, 'master-key'));
  t.deepEqual(await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd })), first);
});

test('a symbolic link to the database leads to the same secrets', async (t) => {
  const cwd = temporaryFolder(t, { 'data/pglite/PG_VERSION': '18' });
  symlinkSync(join(cwd, 'data/pglite'), join(cwd, 'link'));
  const direct = await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd }));
  const linked = await ensureEmbeddedSecrets(loadConfig({ env: { PAY_DATABASE_URL: 'pglite://./link' }, cwd }));
  t.deepEqual(linked.security, direct.security);
  t.false(readdirSync(cwd).includes('link-secrets'));
});

test('configured secrets are used and no file is written', async (t) => {
  const cwd = temporaryFolder(t);
  const env = { PAY_JWT_SECRET_KEY: 'x'.repeat(32), PAY_SECURITY_MASTER_KEY: Buffer.alloc(32).toString('base64') };
  const config = await ensureEmbeddedSecrets(loadConfig({ env, cwd }));
  t.is(config.jwt.secretKey, 'x'.repeat(32));
  t.deepEqual(readdirSync(cwd), []);
});

test('processes that start at the same time use the same secrets', async (t) => {
  const cwd = temporaryFolder(t);
  const root = new URL('../../../config/', import.meta.url).href;
  const program = `
    import { loadConfig } from '${root}load.ts';
    import { ensureEmbeddedSecrets } from '${root}embedded-secrets.ts';
    const { jwt, security } = await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd: process.cwd() }));
    console.log(jwt.secretKey, security.masterKeys[0].id);`;
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd });
  const said = await Promise.all(Array.from({ length: 4 }, run));
  t.is(new Set(said.map(({ stdout }) => stdout)).size, 1);
  t.regex(said[0]?.stdout ?? '', /^\S{44} [0-9a-f]{8}\n$/);
});

test('50 concurrent calls in one process use the same secrets and leave no temporary files', async (t) => {
  const cwd = temporaryFolder(t);
  const all = await Promise.all(Array.from({ length: 50 }, () => ensureEmbeddedSecrets(loadConfig({ env: {}, cwd }))));
  t.is(new Set(all.map((config) => config.jwt.secretKey)).size, 1);
  t.is(new Set(all.map((config) => config.security.masterKeys[0]?.id)).size, 1);
  t.is(readdirSync(join(cwd, 'data/pglite-secrets')).length, 2);
});

test('a secret file that other users can read is restricted again', async (t) => {
  const cwd = temporaryFolder(t);
  await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd }));
  const path = join(cwd, 'data/pglite-secrets/master-key');
  chmodSync(path, 0o644);
  await ensureEmbeddedSecrets(loadConfig({ env: {}, cwd }));
  t.is(mode(path), 0o600);
});

test('a damaged secret file is reported without its content and is not replaced', async (t) => {
  for (const text of ['', 'hunter2', 'aHVudGVyMg==', `${Buffer.alloc(31).toString('base64')}\n`]) {
    const cwd = temporaryFolder(t, { 'data/pglite-secrets/master-key': text });
    const error = await t.throwsAsync(ensureEmbeddedSecrets(loadConfig({ env: {}, cwd })), {
      instanceOf: ConfigFaults,
    });
    t.regex(error.message, /Security\.MasterKey: the file .*master-key is damaged/);
    t.false(text !== '' && error.message.includes(text));
    t.is(readFileSync(join(cwd, 'data/pglite-secrets/master-key'), 'utf8'), text);
  }
});

test('a secret folder that cannot be created is reported by key', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'data'), 'a file, not a folder');
  const error = await t.throwsAsync(ensureEmbeddedSecrets(loadConfig({ env: {}, cwd })), { instanceOf: ConfigFaults });
  t.is(error.faults[0]?.key, 'JWT.SecretKey');
});
