import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, LoadedConfig } from './config.ts';
import { ConfigFaults } from './faults.ts';
import type { KeyName } from './schema.ts';
import { type MasterKey, toMasterKey } from './values.ts';

const SECRET_KEY_FILE = 'jwt-secret-key';
const MASTER_KEY_FILE = 'master-key';

/**
 * Adds the secrets `JWT.SecretKey` and `Security.MasterKey` to a configuration. With the embedded database, a secret
 * that is not configured is generated once and stored in a file (mode 0600) in the folder `<database folder>-secrets`
 * (mode 0700). Later starts read the file, and concurrent starts use the same secret. Throws `ConfigFaults` if a file
 * cannot be written or contains no secret.
 */
export async function ensureEmbeddedSecrets(config: LoadedConfig): Promise<Config> {
  const { database, jwt, security, sources } = config;
  if (database.kind === 'postgres') return complete(config, jwt.secretKey, security.masterKeys);
  // Resolves symbolic links, so that the same database always has the same secrets.
  const folder = `${await realpath(database.folder).catch(() => database.folder)}-secrets`;
  const kept = { ...sources };
  const ensure = async (key: KeyName, name: string): Promise<Buffer> => {
    kept[key] = join(folder, name);
    return ensureSecret(key, folder, kept[key]);
  };
  const secretKey = jwt.secretKey ?? (await ensure('JWT.SecretKey', SECRET_KEY_FILE)).toString('base64');
  const masterKeys =
    security.masterKeys.length > 0
      ? security.masterKeys
      : [toMasterKey(await ensure('Security.MasterKey', MASTER_KEY_FILE))];
  return complete({ ...config, sources: kept }, secretKey, masterKeys);
}

/** Reads the secrets in a folder, without creating or changing a file. A missing or invalid secret is left out. */
export async function readKeptSecrets(folder: string): Promise<{ secretKey?: string; masterKey?: MasterKey }> {
  const read = async (name: string) => {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    const secret = secretIn(text.trim());
    return secret.length === 32 ? secret : undefined;
  };
  const [secretKey, masterKey] = [await read(SECRET_KEY_FILE), await read(MASTER_KEY_FILE)];
  return {
    ...(secretKey && { secretKey: secretKey.toString('base64') }),
    ...(masterKey && { masterKey: toMasterKey(masterKey) }),
  };
}

function complete(config: LoadedConfig, secretKey: string | undefined, masterKeys: MasterKey[]): Config {
  const message = 'is required when the database is PostgreSQL';
  if (secretKey === undefined) throw new ConfigFaults([{ key: 'JWT.SecretKey', message }]);
  if (masterKeys.length === 0) throw new ConfigFaults([{ key: 'Security.MasterKey', message }]);
  return { ...config, jwt: { ...config.jwt, secretKey }, security: { ...config.security, masterKeys } };
}

async function ensureSecret(key: KeyName, folder: string, path: string): Promise<Buffer> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    const secret = (await readSecret(path)) ?? (await makeSecret(path));
    if (secret.length === 32) return secret;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new ConfigFaults([{ key, message: `the file ${path} cannot be read or created (${code})` }]);
  }
  throw new ConfigFaults([{ key, message: `the file ${path} is damaged: it must contain 32 bytes in base64` }]);
}

async function readSecret(path: string): Promise<Buffer | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    await chmod(path, 0o600);
    return secretIn(text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Decodes the base64 text of a secret file; empty if the text is not base64. */
function secretIn(text: string): Buffer {
  const secret = Buffer.from(text, 'base64');
  return secret.toString('base64') === text ? secret : Buffer.alloc(0);
}

/**
 * Creates the secret file atomically. If two processes create the file at the same time, both use the secret of the
 * first process.
 */
async function makeSecret(path: string): Promise<Buffer> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(`${randomBytes(32).toString('base64')}\n`);
    await file.sync();
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return (await readSecret(path)) ?? Buffer.alloc(0);
}
