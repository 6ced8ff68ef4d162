import { listDifferences, linesNotOurs } from '../../db/queries/bill-lists.ts';
import { quietAccounts } from '../../db/queries/bill-strangers.ts';
import { type BillFilter, countDifferences, listBills } from '../../db/queries/bills.ts';
import type { Position } from '../../db/queries/orders.ts';
import type { ReadTx } from '../../db/store.ts';
import { InvalidRequest, NotFound } from '../../errors.ts';
import { UUID } from '../../uuid.ts';
import type { Ports } from '../ports.ts';
import type { PageOf } from '../read.ts';
import { NOT_OURS } from './bill-states.ts';
import { type BillView, type DifferenceView, viewBill, viewDifference, viewNotOurs } from './view-bill.ts';

const LINE = /^\d{1,9}$/;

function wrongCursor(): InvalidRequest {
  const detail = 'is not a cursor of this list';
  return new InvalidRequest('The request is not valid.', [{ pointer: '/query/cursor', code: 'invalid', detail }]);
}

/** Reading bills and their differences as they appear on the wire. */
export function readBills({ store, reports }: Pick<Ports, 'store' | 'reports'>) {
  return { bill, bills, differences };

  async function bill(billNo: string): Promise<BillView> {
    return store.read(async (tx) =>
      viewBill(await findBill(tx, billNo), await countDifferences(tx, [billNo]), await quietAccounts(tx)),
    );
  }

  async function bills(filter: BillFilter, after: Position | undefined, limit: number): Promise<PageOf<BillView>> {
    return reports.read(async (tx) => {
      const last = after && { day: after.createdAt.toISOString().slice(0, 10), billNo: after.id };
      const rows = await listBills(tx, filter, last, limit);
      const page = rows.slice(0, limit);
      const counts = await countDifferences(
        tx,
        page.map(({ billNo }) => billNo),
      );
      const quiet = await quietAccounts(tx);
      const items = page.map((row) =>
        viewBill(
          row,
          counts.filter(({ billNo }) => billNo === row.billNo),
          quiet,
        ),
      );
      const end = rows.length > limit ? page.at(-1) : undefined;
      return { items, next: end ? { createdAt: new Date(`${end.day}T00:00:00Z`), id: end.billNo } : null };
    });
  }

  /** The differences of a bill; the lines of other systems only when they are asked for. */
  async function differences(
    billNo: string,
    filter: { kind?: string | undefined; state?: string | undefined },
    after: Position | undefined,
    limit: number,
  ): Promise<PageOf<DifferenceView>> {
    return reports.read(async (tx) => {
      const of = await findBill(tx, billNo);
      const isOfOthers = filter.kind === NOT_OURS;
      if (after && !(isOfOthers ? LINE : UUID).test(after.id)) throw wrongCursor();
      if (isOfOthers) {
        const lines = await linesNotOurs(tx, of, Number(after?.id ?? 0), limit + 1);
        const page = lines.slice(0, limit);
        const end = lines.length > limit ? page.at(-1) : undefined;
        const next = end ? { createdAt: of.createdAt, id: String(end.line) } : null;
        return { items: page.map((line) => viewNotOurs(of, line)), next };
      }
      const rows = await listDifferences(tx, billNo, filter, after, limit);
      const page = rows.slice(0, limit);
      const orderNo = page.filter(({ state }) => state === 'listed').map((row) => row.orderNo);
      const open = orderNo.length === 0 ? [] : await tx.exceptions.list({ orderNo, state: 'open' });
      const idOf = (row: (typeof page)[number]) =>
        open.find((one) => one.orderNo === row.orderNo && one.kind === row.kind && one.dedupe === row.key)?.id ?? null;
      const end = rows.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map((row) => viewDifference(row, idOf(row))),
        next: end ? { createdAt: end.createdAt, id: end.id } : null,
      };
    });
  }
}

/** A bill, or the 404 of nothing. */
export async function findBill(tx: ReadTx, billNo: string) {
  const found = await tx.bills.find({ billNo });
  if (!found) throw new NotFound('bill');
  return found;
}
