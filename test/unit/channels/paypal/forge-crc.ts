import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';

const PAD = 64;

/**
 * Forges a body with the CRC32 of `genuine`: CRC32 is linear, so a pattern of `0` and `1` in an unused member gives any
 * checksum, in valid JSON.
 */
export function forgeTwin(genuine: Buffer, body: (pad: string) => string): Buffer {
  const forged = Buffer.from(body('0'.repeat(PAD)), 'utf8');
  const start = forged.indexOf('0'.repeat(PAD));
  const plain = crc32(forged);
  let missing = plain ^ crc32(genuine);
  let bits = 0n;
  for (const { effect, from } of basis(forged, start, plain)) {
    if (!(missing & leading(effect))) continue;
    missing ^= effect;
    bits ^= from;
  }
  if (missing !== 0) throw new Error('The pad is too short.');
  for (let i = 0; i < PAD; i += 1) if ((bits >> BigInt(i)) & 1n) flip(forged, start + i);
  return forged;
}

/** Independent checksum effects, each with its flips; every leading bit occurs once. */
function basis(forged: Buffer, start: number, plain: number): { effect: number; from: bigint }[] {
  const rows: { effect: number; from: bigint }[] = [];
  for (let i = 0; i < PAD; i += 1) {
    flip(forged, start + i);
    let effect = crc32(forged) ^ plain;
    flip(forged, start + i);
    let from = 1n << BigInt(i);
    for (const row of rows) {
      if (!(effect & leading(row.effect))) continue;
      effect ^= row.effect;
      from ^= row.from;
    }
    if (effect !== 0) rows.push({ effect, from });
  }
  return rows;
}

function flip(bytes: Buffer, at: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}

function leading(value: number): number {
  return 1 << (31 - Math.clz32(value));
}
