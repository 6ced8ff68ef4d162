import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** A key of `Security.MasterKey`; its id is the first 8 hex digits of its SHA-256. */
export interface MasterKey {
  id: string;
  key: Buffer;
}

/** Where a sealed text stands. It opens only there: moved to another row, column or version it is broken. */
export interface Place {
  table: string;
  id: string;
  column: string;
  version: number;
}

/** Why a sealed text does not open, in stable words. */
export type SealFault = 'malformed' | 'key_unknown' | 'not_genuine';

/** A sealed text does not open. Names the place and the key id, never any content. */
export class SealBroken extends Error {
  readonly why: SealFault;
  readonly place: Place | null;

  constructor(why: SealFault, place: Place | null, keyId: string | null) {
    const where = place ? `${place.table} ${place.id}` : 'A record';
    super(`${where} cannot be decrypted: ${WORDS[why]}${keyId ? ` (key ${keyId})` : ''}.`);
    this.name = 'SealBroken';
    this.why = why;
    this.place = place;
  }
}

const WORDS: Readonly<Record<SealFault, string>> = {
  malformed: 'the stored value is malformed',
  key_unknown: 'its master key is not configured',
  not_genuine: 'it was changed, moved, or encrypted with another key',
};

/** Seals and opens texts of the database. */
export interface Sealing {
  /** Seals with a data key of its own, wrapped by the newest master key. */
  seal(place: Place, plain: string): string;
  /** Throws SealBroken. */
  open(place: Place, sealed: string): string;
  /** The same text under the newest master key (the text itself when it is already); throws SealBroken. */
  rewrap(sealed: string): string;
  /** Id of the key that seals. */
  readonly keyId: string;
}

const FORM = /^s1\.([0-9a-f]{8})\.([A-Za-z0-9_-]{80})\.([A-Za-z0-9_-]{38,})$/;
const IV = 12;
const TAG = 16;

/**
 * Seals with AES-256-GCM: `s1.<key id>.<wrapped data key>.<text>`, both parts as iv, ciphertext, tag in base64url. The first
 * master key seals, all of them open. The place is authenticated with the text, not with the wrapped key, so that a change
 * of master keys needs to know nothing about places.
 */
export function createSealing(masterKeys: readonly MasterKey[]): Sealing {
  const [newest] = masterKeys;
  if (!newest) throw new TypeError('There is no master key.');
  const byId = new Map(masterKeys.map((one) => [one.id, one]));

  function wrap(dataKey: Buffer): string {
    return encrypt(newest!.key, dataKey, wrapping(newest!.id));
  }

  function unwrap(sealed: string, place: Place | null): { id: string; dataKey: Buffer; text: string } {
    const [, id = '', wrapped = '', text = ''] = FORM.exec(sealed) ?? [];
    if (id === '') throw new SealBroken('malformed', place, null);
    const master = byId.get(id);
    if (!master) throw new SealBroken('key_unknown', place, id);
    const dataKey = decrypt(master.key, wrapped, wrapping(id));
    if (!dataKey) throw new SealBroken('not_genuine', place, id);
    return { id, dataKey, text };
  }

  return {
    keyId: newest.id,
    seal(place, plain) {
      const dataKey = randomBytes(32);
      return `s1.${newest.id}.${wrap(dataKey)}.${encrypt(dataKey, Buffer.from(plain, 'utf8'), bytesOf(place))}`;
    },
    open(place, sealed) {
      const { id, dataKey, text } = unwrap(sealed, place);
      const plain = decrypt(dataKey, text, bytesOf(place));
      if (!plain) throw new SealBroken('not_genuine', place, id);
      return plain.toString('utf8');
    },
    rewrap(sealed) {
      const { id, dataKey, text } = unwrap(sealed, null);
      return id === newest.id ? sealed : `s1.${newest.id}.${wrap(dataKey)}.${text}`;
    },
  };
}

/** The id of the master key that a sealed text names; undefined when it is not in sealed form. */
export function keyIdOf(sealed: string): string | undefined {
  return FORM.exec(sealed)?.[1];
}

/** Each part with its length before it, so that no two places ever make the same bytes. */
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

function encrypt(key: Buffer, plain: Buffer, associated: Buffer): string {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG }).setAAD(associated);
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url');
}

function decrypt(key: Buffer, text: string, associated: Buffer): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // The last character of base64url has spare bits: only the one spelling is taken.
  if (bytes.toString('base64url') !== text) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
  decipher.setAAD(associated).setAuthTag(bytes.subarray(-TAG));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()]);
  } catch {
    return undefined;
  }
}
