import { existsSync, mkdtempSync, renameSync, rmSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import crypto, { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';

/** `npm test` removes it at its end; a file that runs alone has its own. */
function folderOfRun(): string {
  if (process.env.PAY_TEST_KEPT) return process.env.PAY_TEST_KEPT;
  const folder = mkdtempSync(join(tmpdir(), 'pay-test-kept-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let base: string | undefined;
const kept = new Map<string, Promise<string>>();

/** Returns a folder that is expensive to create and shared by all files of a run: the first user creates it, and no test changes it. */
export function keptFolder(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const known = kept.get(name) ?? keep(join((base ??= folderOfRun()), name), make);
  kept.set(name, known);
  return known;
}

async function keep(folder: string, make: (folder: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder;
  const draft = mkdtempSync(`${folder}-`);
  await make(draft);
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another process created it first.
    if (!existsSync(folder)) throw error;
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

interface Pair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

let makingOwn = 0;

/** Generates new keys during `work`, for data that other processes will read. */
export async function withNewKeys(work: () => Promise<void>): Promise<void> {
  makingOwn++;
  await work().finally(() => makingOwn--);
}

/** More keys than concurrent tests of a process could compare. */
const KEYS = 96;

/**
 * Shares 2048-bit RSA keys between all processes of a run: generating one takes 80 ms of a processor, and the first order of a
 * project in the simulator needs eight. A process gets this many different keys, then the same again; another process has the
 * same keys but never meets these.
 */
export function keepRsaKeys(folder: string): void {
  const { generateKeyPair } = crypto;
  const make = promisify(generateKeyPair) as (type: string, options: object) => Promise<Pair>;
  const known: (Promise<Pair> | undefined)[] = [];
  let drawn = 0;
  mkdirSync(folder, { recursive: true });
  const draw = async (type: string, options: { modulusLength?: number }): Promise<Pair> => {
    if (makingOwn > 0 || type !== 'rsa' || options.modulusLength !== 2048) return make(type, options);
    const at = drawn++ % KEYS;
    return (known[at] ??= keep(join(folder, `${at}.pem`), type, options));
  };
  const keep = async (file: string, type: string, options: object): Promise<Pair> => {
    if (existsSync(file)) {
      const privateKey = createPrivateKey(readFileSync(file));
      return { privateKey, publicKey: createPublicKey(privateKey) };
    }
    const pair = await make(type, options);
    // Several processes may create the same key; the last whole file stays.
    const draft = `${file}-${process.pid}`;
    writeFileSync(draft, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    renameSync(draft, file);
    return pair;
  };
  const withCallback = (...given: unknown[]) => Reflect.apply(generateKeyPair, crypto, given as never);
  crypto.generateKeyPair = Object.assign(withCallback, { [promisify.custom]: draw }) as never;
  syncBuiltinESMExports();
}
