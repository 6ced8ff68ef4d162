import type { BillRow, PayeeRow, StoredTotals } from '../../db/entities/bills.ts';
import { makeMonth, type Reading, removeReading, statementsOf, writeLines } from '../../db/queries/bill-lines.ts';
import { versionsOf } from '../../db/queries/payees.ts';
import { later } from '../core/plan.ts';
import { BillMalformed, type BillDesk, type BillTotals, type ReadHow } from './bill.ts';
import type { BillSource } from './bill-states.ts';
import type { BillPorts } from './ports.ts';
import { requirePayee } from './payees.ts';
import type { Spooled } from './spool.ts';
import { keepHeapLean } from './lean-heap.ts';

/** Whoever reads a bill keeps the others from it for this long, and says so again while it goes on. */
const LEASE_SECONDS = 60;
const RENEWED_SECONDS = 20;

/** What reading a file came to: `taken` = somebody else began to read the same bill meanwhile. */
export type Stored = 'read' | 'unchanged' | 'taken';

/** A try to read a bill: its number is taken in the database, so that of two the later one counts. */
export async function beginReading(ports: BillPorts, billNo: string): Promise<Reading | undefined> {
  return ports.store.transaction(async (tx) => {
    const bill = await tx.bills.lock({ billNo });
    if (!bill) return undefined;
    const reading = bill.readings + 1;
    const leasedUntil = later(ports.now(), LEASE_SECONDS);
    await tx.bills.update({ billNo }, { state: 'reading', readings: reading, leasedUntil });
    return { billNo, reading, day: bill.day };
  });
}

/** What is read, and who brought it. */
export interface FileOf {
  desk: Pick<BillDesk, 'read'>;
  /** null = the channel says that nothing happened on that day. */
  spool: Spooled | null;
  source: BillSource;
  /** The file has the lines of other payees, too. */
  isWhole?: boolean;
  /** The payee that a file names which a person brought. */
  payee?: string;
}

/**
 * Reads a file into the lines of a bill. They count from the commit that names their reading, all at once; a file that is not the
 * bill throws BillMalformed and leaves what counted before.
 */
export async function storeBill(
  ports: BillPorts,
  of: Reading,
  { desk, spool, source, isWhole = false, payee }: FileOf,
): Promise<Stored> {
  const before = await ports.store.read((tx) => tx.bills.find({ billNo: of.billNo }));
  const isSame = spool !== null && before !== undefined && before.reading > 0 && before.sha256 === spool.sha256;
  ports.checkpoint('bill.spooled');
  // Another file of the channel cannot be had; what a person brings can be downloaded again.
  const how = { isLenient: source === 'channel', isWhole };
  const read = spool === null || isSame ? undefined : await readInto(ports, of, desk, spool, how);
  if (read === 'taken') return 'taken';
  ports.checkpoint('bill.read');
  const fresh: Partial<BillRow> = isSame
    ? {}
    : {
        reading: of.reading,
        lines: read?.lines ?? 0,
        mostLines: Math.max(read?.lines ?? 0, before?.mostLines ?? 0),
        unreadable: read?.unreadable ?? 0,
        shortfall: read?.shortfall ?? null,
        totals: read?.totals ?? null,
        bytes: spool?.bytes ?? null,
        sha256: spool?.sha256 ?? null,
        source,
        payeeInFile: payee ?? null,
        pendingRefunds: null,
        readAt: ports.now(),
      };
  const isMine = await ports.store.transaction(async (tx) => {
    const bill = await tx.bills.lock({ billNo: of.billNo });
    if (bill?.readings !== of.reading) return false;
    if (!isSame && !read?.lines && bill.lines > 0) throw emptied(bill.lines);
    // The channel may have named the payee of a claim since the file was looked at.
    if (payee !== undefined)
      requirePayee({ payee: bill.account, isProven: isProven(await versionsOf(tx, bill)) }, payee);
    const none = { fault: null, faultDetail: null, faultLine: null, faultColumn: null };
    // Whoever asked the channel goes on to compare; what a person brought is compared by whoever is free.
    const leasedUntil = source === 'import' ? null : later(ports.now(), LEASE_SECONDS);
    const next = { state: 'matching' as const, nextCheckAt: ports.now(), leasedUntil };
    await tx.bills.update({ billNo: of.billNo }, { ...fresh, ...none, ...next });
    if (source === 'import') await tx.wake('bill', { id: of.billNo });
    return true;
  });
  if (!isMine) {
    await removeReading(ports.store, of);
    return 'taken';
  }
  return isSame ? 'unchanged' : 'read';
}

function isProven(versions: readonly PayeeRow[]): boolean {
  return versions.some(({ provenAt }) => provenAt !== null);
}

/** That nothing happened on a day never takes the place of lines that the channel gave before. */
function emptied(lines: number): BillMalformed {
  const detail = `This bill has no lines; the ${lines} that the channel gave before still count.`;
  return new BillMalformed('empty_bill', detail);
}

async function readInto(
  ports: BillPorts,
  of: Reading,
  desk: Pick<BillDesk, 'read'>,
  { file }: Spooled,
  how: ReadHow,
): Promise<Pick<BillRow, 'lines' | 'unreadable' | 'shortfall' | 'totals'> | 'taken'> {
  await makeMonth(ports.store, of.day);
  let lines = 0;
  let unreadable = 0;
  let shortfall: string | null = null;
  let totals: StoredTotals[] | null = null;
  // The next lines are read, and made ready for the database, while it takes the last ones.
  let writing = Promise.resolve();
  const renew = leaseOf(ports, of);
  const growAsUsual = keepHeapLean();
  try {
    for await (const part of desk.read(file, of.day, how)) {
      if (part.kind === 'totals') {
        totals = part.totals.map(storedTotals);
        shortfall = part.shortfall?.slice(0, 1000) ?? null;
        continue;
      }
      if (part.lines.length > 0 && part.lines[0]!.line !== lines + 1)
        throw new BillMalformed('not_a_bill', 'The lines of the bill do not follow each other.');
      lines += part.lines.length;
      for (const { kind } of part.lines) if (kind === 'unreadable') unreadable += 1;
      const statements = statementsOf(of, part.lines);
      await writing;
      ports.checkpoint('bill.lines');
      if (!(await renew())) {
        await removeReading(ports.store, of);
        return 'taken';
      }
      writing = writeLines(ports.store, statements);
      // What went wrong is told where it is awaited.
      writing.catch(() => {});
    }
    await writing;
    return { lines, unreadable, shortfall, totals };
  } finally {
    await writing.catch(() => {});
    growAsUsual();
  }
}

/** Says from time to time that the reading goes on; false when another one has begun. */
function leaseOf(ports: BillPorts, { billNo, reading }: Reading): () => Promise<boolean> {
  let renewed = ports.now();
  return async () => {
    const now = ports.now();
    if (now < later(renewed, RENEWED_SECONDS)) return true;
    renewed = now;
    const leasedUntil = later(now, LEASE_SECONDS);
    return (
      (await ports.store.transaction((tx) => tx.bills.update({ billNo, readings: reading }, { leasedUntil }))) === 1
    );
  };
}

/** The bytes of a download, which may take longer than anybody keeps a row; they end early when another reading has begun. */
export async function* keptBytes(
  ports: BillPorts,
  of: Reading,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const renew = leaseOf(ports, of);
  for await (const piece of bytes) {
    if (!(await renew())) throw new ReadingTaken();
    yield piece;
  }
}

/** Somebody else began to read the same bill. */
export class ReadingTaken extends Error {
  constructor() {
    super('Another reading of the bill has begun.');
    this.name = 'ReadingTaken';
  }
}

function storedTotals({ paid, refunded, fees, net, balance, ...counts }: BillTotals): StoredTotals {
  const text = (minor: bigint | null) => (minor === null ? null : String(minor));
  const money = { paid: text(paid), refunded: text(refunded), fees: text(fees), net: text(net) };
  if (!balance) return { ...counts, ...money };
  const { opening, closing, holds } = balance;
  return { ...counts, ...money, balance: { opening: String(opening), closing: String(closing), holds: String(holds) } };
}
