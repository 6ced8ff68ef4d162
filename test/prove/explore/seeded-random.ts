import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { type Chance, createChance } from '../chance.ts';

let chance: Chance = createChance(0);

/** Makes all random numbers of this process come from a seed. */
export function takeOverRandom(): void {
  const byte = () => chance.whole(0, 255);
  crypto.randomBytes = ((size: number) => {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; at += 1) bytes[at] = byte();
    return bytes;
  }) as never;
  crypto.randomUUID = (() => uuid()) as never;
  crypto.randomInt = ((low: number, high?: number) =>
    high === undefined ? chance.whole(0, low - 1) : chance.whole(low, high - 1)) as never;
  Math.random = () => chance.next();
  syncBuiltinESMExports();
}

/** Restarts the random numbers from this seed. */
export function reseed(seed: string): void {
  let sum = 2_166_136_261;
  for (const letter of seed) sum = Math.imul(sum ^ letter.charCodeAt(0), 16_777_619) >>> 0;
  chance = createChance(sum);
}

function uuid(): string {
  const hex = Array.from({ length: 4 }, () => chance.whole(0, 0xffff_ffff).toString(16).padStart(8, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
