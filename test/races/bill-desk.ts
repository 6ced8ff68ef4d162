import type { Store } from '../../server/db/store.ts';
import type { BillPorts } from '../../server/payments/bills/payees.ts';
import { type BillAnswer, type BillDesk, type BillLine, BillMalformed } from '../../server/payments/channel.ts';
import { billLine } from '../support/bill-rows.ts';

/** The account of WeChat Pay of these bills. */
const PAYEE = '1900000001';

/** A bill source whose files are JSON: a list of lines, or a line's error in its place. */
export function jsonDesk(answer: () => BillAnswer): BillDesk {
  return {
    fetch: async () => answer(),
    payeeIn: async () => PAYEE,
    async *read(file) {
      const { readFile } = await import('node:fs/promises');
      const lines = JSON.parse(await readFile(file, 'utf8')) as (Partial<BillLine> | { fault: string })[];
      for (const [at, line] of lines.entries()) {
        if ('fault' in line)
          throw new BillMalformed('wrong_cell', 'The amount is no number.', { line: at + 1, column: 7 });
        yield { kind: 'lines', lines: [{ ...billLine(line), line: at + 1 }] };
      }
      yield {
        kind: 'totals',
        totals: [
          { currency: 'CNY', payments: lines.length, paid: 1000n, refunds: 0, refunded: 0n, fees: 6n, net: null },
        ],
      };
    },
  };
}

/** The bytes in chunks of seven. */
export async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

/** Bill ports with one WeChat Pay account that uses this bill source. */
export function billPorts(store: Store, desk: BillDesk, more: Partial<BillPorts> = {}): BillPorts {
  const calendar = { utcOffsetMinutes: 480, readyAfterMinutes: 630, backDays: 90 };
  const account = { channel: { bills: desk }, account: PAYEE, mode: 'live', payeeVersions: new Set([1]) };
  return {
    store,
    now: () => new Date('2026-11-22T04:00:00Z'),
    log: () => {},
    count: () => {},
    checkpoint: () => {},
    audit: async () => {},
    channels: { kindOf: () => ({ bills: calendar }), forNotifications: async () => [account] },
    openPatient: async () => ({ store, close: async () => {} }),
    ...more,
  } as unknown as BillPorts;
}
