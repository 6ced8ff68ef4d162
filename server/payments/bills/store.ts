import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BillRow, PayeeRow, StoredTotals } from '../../db/entities/bills.ts';
import { type Reading, makeMonth, removeReading, statementsOf, writeLines } from '../../db/queries/bill-lines.ts';
import { versionsOf } from '../../db/queries/payees.ts';
import type { Tx } from '../../db/store.ts';
import type { BillSource } from '../../domain.ts';
import { Conflict, InvalidRequest, NotAllowed, NotFound } from '../../errors.ts';
import { keepHeapLean } from '../../heap.ts';
import type { PayWay } from '../channel.ts';
import { later } from '../core/plan.ts';
import { addAuditEntry } from '../side-effects.ts';
import type { Requester } from '../ports.ts';
import { type BillDesk, BillMalformed, type BillTotals, type ReadHow, dayAfter, dayOf, isDay } from '../outcomes.ts';
import { type BillAccount, type BillPorts, accountsOf, addBill, deskOf, newBill, requirePayee } from './payees.ts';

/** A bill that is being read is reserved for this time; the reading process extends the time again and again. */
const LEASE_SECONDS = 60;
const RENEWED_SECONDS = 20;

/** The result of reading a file; `taken`: another reading of the same bill started meanwhile. */
type Stored = 'read' | 'unchanged' | 'taken';

/** Starts a reading of a bill. Of two readings that overlap, only the later one counts. */
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

interface FileOf {
  desk: Pick<BillDesk, 'read'>;
  /** null = the channel reports a day without lines. */
  spool: Spooled | null;
  source: BillSource;
  /** The file also has the lines of other payees. */
  isWhole?: boolean;
  /** The payee that an imported file names. */
  payee?: string;
}

/**
 * Reads a file and stores its lines for a bill. The new lines do not count while they are written; one commit at the
 * end replaces the earlier lines by all new lines. Throws BillMalformed for a wrong file; the earlier lines then still
 * count.
 */
export async function storeBill(
  ports: BillPorts,
  of: Reading,
  { desk, spool, source, isWhole = false, payee }: FileOf,
): Promise<Stored> {
  const before = await ports.store.read((tx) => tx.bills.find({ billNo: of.billNo }));
  const isSame = spool !== null && before !== undefined && before.reading > 0 && before.sha256 === spool.sha256;
  ports.checkpoint('bill.spooled');
  // Unreadable rows in the channel's file are tolerated, because the channel has no other file of the day. A file for
  // import can be downloaded again.
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
    // Compares the payee in the file again. Since the first check, the channel may have named the payee of this
    // account, which was only provisional until then.
    if (payee !== undefined)
      requirePayee({ payee: bill.account, isProven: isProven(await versionsOf(tx, bill)) }, payee);
    const none = { fault: null, faultDetail: null, faultLine: null, faultColumn: null };
    // A fetched bill stays leased (reserved for this process), because this process compares it next. An imported bill
    // is compared by a job.
    const leasedUntil = source === 'import' ? null : later(ports.now(), LEASE_SECONDS);
    const next = { state: 'matching' as const, nextCheckAt: ports.now(), leasedUntil };
    await tx.bills.update({ billNo: of.billNo }, { ...fresh, ...none, ...next });
    if (source === 'import') await tx.afterCommit('bill', { id: of.billNo });
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

/** The error for an empty bill: a bill without lines never replaces the lines of an earlier reading. */
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
  // The next lines are read and prepared while the database stores the previous ones.
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
        throw new BillMalformed('not_a_bill', 'The line numbers of the bill are not consecutive.');
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
      // Avoids an unhandled rejection; the error is thrown where `writing` is awaited.
      writing.catch(() => {});
    }
    await writing;
    return { lines, unreadable, shortfall, totals };
  } finally {
    await writing.catch(() => {});
    growAsUsual();
  }
}

/** The returned function renews the lease at intervals; it returns false if another reading of the bill has started. */
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

/** Passes on the bytes of a download and renews the lease; throws ReadingTaken if another reading has started. */
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

/** Another reading of the same bill has started. */
export class ReadingTaken extends Error {
  constructor() {
    super('Another reading of the bill has started.');
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

const MOST_BYTES = 2 * 1024 ** 3;

/** A bill in a temporary file; size and hash show whether it has changed. */
export interface Spooled {
  file: string;
  bytes: bigint;
  sha256: string;
}

/**
 * Writes a bill into a temporary file, because the download link expires after half a minute and the hash is known only
 * after the last byte. Throws BillMalformed `too_large`; passes on errors of `source`.
 */
export async function spooled<Result>(
  source: AsyncIterable<Uint8Array>,
  work: (spool: Spooled) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'payment-bill-'));
  try {
    return await work(await write(source, join(folder, randomUUID())));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function write(source: AsyncIterable<Uint8Array>, file: string): Promise<Spooled> {
  const hash = createHash('sha256');
  let bytes = 0n;
  const handle = await open(file, 'wx', 0o600);
  try {
    for await (const piece of source) {
      bytes += BigInt(piece.byteLength);
      if (bytes > MOST_BYTES) throw new BillMalformed('too_large', `The bill file has more than ${MOST_BYTES} bytes.`);
      hash.update(piece);
      await handle.write(piece);
    }
  } finally {
    await handle.close();
  }
  return { file, bytes, sha256: hash.digest('hex') };
}

interface BillOf {
  project: string;
  payWay: PayWay;
  /** The channel account, if the project has several accounts; absent = the account that new orders use. */
  account?: string | undefined;
  /** `yyyy-MM-dd`, in the channel's time zone. */
  day: string;
}

/** The imported file is not the bill of the requested account and day (422). */
class BillRefused extends NotAllowed {
  constructor({ fault, message, line, column }: BillMalformed) {
    const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
    super('bill_malformed', `${message.replace(/\.$/, '')}${place}.`, {
      errors: [{ pointer: '/file', code: fault, detail: message }],
      extra: { fault, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) },
    });
  }
}

/** The actions of administrators on bills: fetch, import, and compare again. */
export function billRepairs(ports: BillPorts) {
  return { requestBill, importBill, rerunBill };

  /** A job fetches the bill now, independent of the regular schedule. */
  async function requestBill(requester: Requester, of: BillOf): Promise<BillRow> {
    const account = await accountOf(of);
    return ports.store.transaction(async (tx) => {
      const { billNo } = await ensureBill(tx, account, of.day);
      const { state } = (await tx.bills.lock({ billNo }))!;
      await tx.bills.update({ billNo }, { state: state === 'matching' ? state : 'waiting', nextCheckAt: ports.now() });
      await tx.afterCommit('bill', { id: billNo });
      const bill = (await tx.bills.find({ billNo }))!;
      await addAuditEntry(ports, tx, requester, { action: 'bill.fetch', target: billNo, after: of });
      return bill;
    });
  }

  /**
   * Imports a file. Throws BillRefused (422) if the file is not the bill of the requested account and day. The earlier
   * lines then still count. Importing the same file again changes nothing.
   */
  async function importBill(requester: Requester, of: BillOf, source: AsyncIterable<Uint8Array>): Promise<BillRow> {
    const account = await accountOf(of);
    const desk = deskOf(account);
    const before = await ports.store.transaction((tx) => ensureBill(tx, account, of.day));
    const { billNo } = before;
    const reading = await beginReading(ports, billNo);
    if (!reading) throw new NotFound('bill');
    try {
      const stored = await spooled(keptBytes(ports, reading, source), async (spool) => {
        const payee = await desk.payeeIn(spool.file);
        requirePayee(account, payee);
        return storeBill(ports, reading, { desk, spool, source: 'import', payee });
      });
      if (stored === 'taken') throw new ReadingTaken();
    } catch (error) {
      await giveBack(reading, before);
      throw translated(error);
    }
    return ports.store.transaction(async (tx) => {
      const bill = (await tx.bills.find({ billNo }))!;
      const { sha256, lines } = bill;
      await addAuditEntry(ports, tx, requester, {
        action: 'bill.import',
        target: billNo,
        after: { ...of, sha256, lines },
      });
      return bill;
    });
  }

  async function rerunBill(requester: Requester, billNo: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (!bill) throw new NotFound('bill');
      if (bill.reading === 0)
        throw new Conflict('bill_not_read', 'The bill has not been read yet; fetch or import it first.');
      if (bill.state !== 'reading') {
        await tx.bills.update({ billNo }, { state: 'matching', nextCheckAt: ports.now() });
        await tx.afterCommit('bill', { id: billNo });
      }
      const after = (await tx.bills.find({ billNo }))!;
      await addAuditEntry(ports, tx, requester, { action: 'bill.rerun', target: billNo });
      return after;
    });
  }

  async function accountOf({ project, payWay, account, day }: BillOf): Promise<BillAccount> {
    const calendar = ports.channels.kindOf(payWay).bills;
    const accounts = await accountsOf(ports, project, payWay);
    const found = accounts.find(({ from, payee }) => [undefined, payee, from.account].includes(account));
    if (!calendar || !found)
      throw new NotAllowed('bills_not_configured', 'No channel configuration for this account can fetch bills.', {
        hint: `Check the configuration of the channel: payctl channel show ${payWay} --project ${project}`,
      });
    if (!isDay(day) || day > dayOf(ports.now(), calendar))
      throw wrongDay('The day must have the form yyyy-MM-dd and must not be in the future.');
    if (day < dayAfter(dayOf(ports.now(), calendar), -MOST_DAYS_BACK))
      throw wrongDay('The day is too long ago: channels keep bills for at most ten years.');
    return found;
  }

  async function ensureBill(tx: Tx, { project, payWay, payee, from }: BillAccount, day: string): Promise<BillRow> {
    const of = { payWay, account: payee, mode: from.mode, day };
    const known = await tx.bills.find(of);
    if (known) return known;
    await addBill(tx, newBill({ ...of, project }, null, ports.now()));
    const added = await tx.bills.find(of);
    // The insert was skipped: the account had only a provisional payee, and the channel has just named the real one.
    if (!added)
      throw new Conflict('bill_being_read', 'The payee of this account has just changed; repeat the request.');
    return added;
  }

  /** Restores the state of a bill after an import failed. Does nothing if another reading of the bill has started. */
  async function giveBack(
    { billNo, reading }: { billNo: string; reading: number },
    { state, nextCheckAt, reading: before }: BillRow,
  ): Promise<void> {
    await removeReading(ports.store, { billNo, reading });
    await ports.store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (bill?.readings !== reading || bill.state !== 'reading') return;
      const isNew = nextCheckAt === null && state === 'waiting';
      // The channel named another payee than the imported file, so the lines of the file no longer count. The bill must
      // be fetched from the channel.
      const isEmptied = bill.reading === 0 && before > 0;
      const due = { state: 'waiting', nextCheckAt: ports.now(), leasedUntil: null } as const;
      if (isEmptied) await tx.bills.update({ billNo }, due);
      else if (isNew) await tx.bills.delete({ billNo });
      else await tx.bills.update({ billNo }, { state, nextCheckAt, leasedUntil: null });
    });
  }
}

/** Channels keep bills for at most ten years. */
const MOST_DAYS_BACK = 3660;

function wrongDay(detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer: '/day', code: 'invalid', detail }]);
}

function translated(error: unknown): unknown {
  if (error instanceof BillMalformed) return new BillRefused(error);
  if (error instanceof ReadingTaken)
    return new Conflict('bill_being_read', 'Another reading of this bill has started; wait for its result.');
  return error;
}
