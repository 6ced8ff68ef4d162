import { holdSealedTexts, replaceSealedText, type SealedText } from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import { LocalError } from '../errors.ts';
import { createSealing, keyIdOf, SealBroken, type MasterKey } from './sealing.ts';

/** What a change of master keys did; `keyId` is the only one left in the database. */
export interface Rotated {
  keyId: string;
  rewrapped: number;
}

/** Some records could not be opened, so they still name an old key; everything else was re-wrapped (409). */
export class SealsLeft extends LocalError {
  constructor(left: readonly SealedText[]) {
    const names = left.map(({ table, column, id }) => `${table}.${column} ${id}`);
    super(
      'seals_left',
      409,
      `${left.length} records cannot be decrypted and were not rotated: ${names.slice(0, 20).join(', ')}.`,
      {
        hint: 'Add the key that encrypted them to Security.MasterKey, or set those secrets again.',
      },
    );
  }
}

/**
 * Wraps the data key of every sealed record with the newest master key, in one transaction; interrupted, nothing was done,
 * and a second time there is nothing to do. Throws SealsLeft, after the rest is done, when records do not open.
 */
export async function rotateMasterKey(store: Store, masterKeys: readonly MasterKey[]): Promise<Rotated> {
  const sealing = createSealing(masterKeys);
  const { rewrapped, left } = await store.transaction(async (tx) => {
    const broken: SealedText[] = [];
    let count = 0;
    for (const text of await holdSealedTexts(tx)) {
      const moved = rewrap(text);
      if (moved === undefined) broken.push(text);
      else if (moved !== text.sealed) {
        await replaceSealedText(tx, text, moved);
        count++;
      }
    }
    return { rewrapped: count, left: broken };
  });
  if (left.length > 0) throw new SealsLeft(left);
  return { keyId: sealing.keyId, rewrapped };

  function rewrap({ sealed }: SealedText): string | undefined {
    try {
      return sealing.rewrap(sealed);
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      // A record that is broken but names the new key is no trace of the old one.
      return keyIdOf(sealed) === sealing.keyId ? sealed : undefined;
    }
  }
}
