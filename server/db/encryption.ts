// Encryption at rest: encrypts and decrypts texts of the database, binds each encrypted text to its table, row and
// column, and rotates the master key.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { CertRow, ChannelConfigRow } from './entities/credentials.ts';
import {
  type EncryptedText,
  lockEncryptedTexts,
  masterKeysNeeded,
  replaceEncryptedText,
} from './queries/credentials.ts';
import type { Store } from './store.ts';
import { LocalError } from '../errors.ts';

/** A key of `Security.MasterKey`; its id is the first 8 hex digits of its SHA-256. */
export interface MasterKey {
  id: string;
  key: Buffer;
}

/**
 * The table, row, column and version to which an encrypted text is bound. If the text is moved to another place, it
 * cannot be decrypted.
 */
export interface Place {
  table: string;
  id: string;
  column: string;
  version: number;
}

type DecryptionFault = 'malformed' | 'key_unknown' | 'not_genuine';

/**
 * An encrypted text cannot be decrypted. The message contains the table, row and column, and the key id, but never any
 * content.
 */
export class DecryptionFailed extends Error {
  readonly why: DecryptionFault;
  readonly place: Place | null;

  constructor(why: DecryptionFault, place: Place | null, keyId: string | null) {
    const where = place ? `${place.table} ${place.id}` : 'A record';
    super(`${where} cannot be decrypted: ${WORDS[why]}${keyId ? ` (key ${keyId})` : ''}.`);
    this.name = 'DecryptionFailed';
    this.why = why;
    this.place = place;
  }
}

const WORDS: Readonly<Record<DecryptionFault, string>> = {
  malformed: 'the stored value is malformed',
  key_unknown: 'its master key is not configured',
  not_genuine: 'it was changed, moved, or encrypted with another key',
};

export interface Encryption {
  /** Encrypts a text with a new data key, and wraps the data key with the newest master key. */
  encrypt(place: Place, plain: string): string;
  /** Decrypts a text. Throws DecryptionFailed. */
  open(place: Place, encrypted: string): string;
  /** Wraps the data key with the newest master key; unchanged if it already uses that key. Throws DecryptionFailed. */
  rewrap(encrypted: string): string;
  readonly keyId: string;
}

const FORM = /^s1\.([0-9a-f]{8})\.([A-Za-z0-9_-]{80})\.([A-Za-z0-9_-]{38,})$/;
const IV = 12;
const TAG = 16;

/**
 * Creates an AES-256-GCM encryption. An encrypted text is `s1.<key id>.<wrapped data key>.<text>`. Each of the last two
 * parts consists of iv, ciphertext and tag in base64url. The first master key encrypts, and every master key can
 * decrypt. The place (table, row, column and version) is authenticated only with the text. The wrapped data key does
 * not depend on it, so a rotation of the master keys does not need to know the places.
 */
export function createEncryption(masterKeys: readonly MasterKey[]): Encryption {
  const [newest] = masterKeys;
  if (!newest) throw new TypeError('No master key is configured in Security.MasterKey.');
  const byId = new Map(masterKeys.map((one) => [one.id, one]));

  function wrap(dataKey: Buffer): string {
    return encryptBytes(newest!.key, dataKey, wrapping(newest!.id));
  }

  function unwrap(encrypted: string, place: Place | null): { id: string; dataKey: Buffer; text: string } {
    const [, id = '', wrapped = '', text = ''] = FORM.exec(encrypted) ?? [];
    if (id === '') throw new DecryptionFailed('malformed', place, null);
    const master = byId.get(id);
    if (!master) throw new DecryptionFailed('key_unknown', place, id);
    const dataKey = decryptBytes(master.key, wrapped, wrapping(id));
    if (!dataKey) throw new DecryptionFailed('not_genuine', place, id);
    return { id, dataKey, text };
  }

  return {
    keyId: newest.id,
    encrypt(place, plain) {
      const dataKey = randomBytes(32);
      return `s1.${newest.id}.${wrap(dataKey)}.${encryptBytes(dataKey, Buffer.from(plain, 'utf8'), bytesOf(place))}`;
    },
    open(place, encrypted) {
      const { id, dataKey, text } = unwrap(encrypted, place);
      const plain = decryptBytes(dataKey, text, bytesOf(place));
      if (!plain) throw new DecryptionFailed('not_genuine', place, id);
      return plain.toString('utf8');
    },
    rewrap(encrypted) {
      const { id, dataKey, text } = unwrap(encrypted, null);
      return id === newest.id ? encrypted : `s1.${newest.id}.${wrap(dataKey)}.${text}`;
    },
  };
}

/** The id of the master key of an encrypted text; undefined if the text is not in the format of this service. */
export function keyIdOf(encrypted: string): string | undefined {
  return FORM.exec(encrypted)?.[1];
}

/** The place as bytes. Each part is preceded by its length, so that two different places never give equal bytes. */
function bytesOf({ table, id, column, version }: Place): Buffer {
  return lengthPrefixed([table, id, column, String(version)]);
}

function wrapping(keyId: string): Buffer {
  return lengthPrefixed(['data-key', keyId]);
}

function lengthPrefixed(parts: readonly string[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(part));
      return [length, Buffer.from(part, 'utf8')];
    }),
  );
}

function encryptBytes(key: Buffer, plain: Buffer, associated: Buffer): string {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG }).setAAD(associated);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url');
}

function decryptBytes(key: Buffer, text: string, associated: Buffer): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // The last character of base64url has unused bits, so several spellings give the same bytes. Only the canonical
  // spelling is accepted.
  if (bytes.toString('base64url') !== text) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
  decipher.setAAD(associated).setAuthTag(bytes.subarray(-TAG));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Returns the table, row, column and version to which the encrypted secrets of a channel configuration are bound. */
export function secretsPlace({ id, version }: Pick<ChannelConfigRow, 'id' | 'version'>): Place {
  return { table: 'channel_configs', id, column: 'encrypted', version };
}

/** Returns the table, row and column to which the encrypted private key of a certificate row is bound. */
export function privatePartPlace({ id }: Pick<CertRow, 'id'>): Place {
  return { table: 'certs', id, column: 'encrypted', version: 1 };
}

/**
 * The result of a master key rotation. `rewrapped` = the number of changed records; `keyId` = the only master key id
 * that records in the database still need.
 */
interface Rotated {
  keyId: string;
  rewrapped: number;
}

/** Some records could not be decrypted and still need an old master key (409). All other records were rotated. */
export class OldCiphertextsLeft extends LocalError {
  constructor(left: readonly EncryptedText[]) {
    const names = left.map(({ table, column, id }) => `${table}.${column} ${id}`);
    super(
      'seals_left',
      409,
      `${left.length} records cannot be decrypted and were not rotated: ${names.slice(0, 20).join(', ')}.`,
      {
        hint: 'Add the old master key that encrypted these records to Security.MasterKey, or enter the secrets of these records again.',
      },
    );
  }
}

/** None of the stored secrets can be decrypted with the configured master keys (409). */
export class MasterKeyWrong extends LocalError {
  readonly needed: string[];

  constructor(configured: readonly string[], needed: string[]) {
    const key = needed.length === 1 ? 'the key' : 'the keys';
    super(
      'master_key_wrong',
      409,
      `Security.MasterKey (${configured.join(', ')}) decrypts none of the stored secrets, which need ${key} ${needed.join(', ')}.`,
      {
        hint: `payctl keys id FILE\nThe command prints the id of a kept key. Set Security.MasterKey to the key of this database. If no copy of this key is left, set Security.LostKeys to ${needed.join(',')}, start the service and enter the secrets again.`,
      },
    );
    this.needed = needed;
  }
}

/**
 * Returns the ids of the master keys that stored secrets need and that are not configured. Throws MasterKeyWrong if no
 * configured key is needed. Keys that are known to be lost do not count.
 */
export async function missingMasterKeys(
  store: Store,
  { masterKeys, lostKeys }: { masterKeys: readonly MasterKey[]; lostKeys: readonly string[] },
): Promise<string[]> {
  const configured = masterKeys.map(({ id }) => id);
  const needed = (await store.read(masterKeysNeeded)).filter((id) => !lostKeys.includes(id));
  const missing = needed.filter((id) => !configured.includes(id));
  if (missing.length > 0 && missing.length === needed.length) throw new MasterKeyWrong(configured, missing);
  return missing;
}

/**
 * Wraps the data key of every encrypted record with the newest master key, in one transaction; repeating it is safe.
 * Throws OldCiphertextsLeft after the commit if some records cannot be decrypted.
 */
export async function rotateMasterKey(store: Store, masterKeys: readonly MasterKey[]): Promise<Rotated> {
  const encryption = createEncryption(masterKeys);
  const { rewrapped, left } = await store.transaction(async (tx) => {
    const broken: EncryptedText[] = [];
    let count = 0;
    for (const text of await lockEncryptedTexts(tx)) {
      const rewrapped = rewrap(text);
      if (rewrapped === undefined) broken.push(text);
      else if (rewrapped !== text.encrypted) {
        await replaceEncryptedText(tx, text, rewrapped);
        count++;
      }
    }
    return { rewrapped: count, left: broken };
  });
  if (left.length > 0) throw new OldCiphertextsLeft(left);
  return { keyId: encryption.keyId, rewrapped };

  function rewrap({ encrypted }: EncryptedText): string | undefined {
    try {
      return encryption.rewrap(encrypted);
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      // A damaged record that already names the newest key needs no rotation.
      return keyIdOf(encrypted) === encryption.keyId ? encrypted : undefined;
    }
  }
}
