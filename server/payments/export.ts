import { Readable } from 'node:stream';
import { type Position } from '../db/queries/lists.ts';
import { type OrderFilter, feesOf, listOrders, openExceptions } from '../db/queries/orders.ts';
import { addAuditEntry } from './side-effects.ts';
import { csvLine } from '../csv.ts';
import type { Requester, Ports } from './ports.ts';
import { EXPORTED, type OrderEntryView, viewOrder } from './view.ts';

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const;

/** The columns for the channel's fee and the net amount, in major units; empty while the amounts are unknown. */
const SETTLED = ['fee', 'net'] as const;

const BATCH = 500;

/**
 * Streams all matching orders, newest first, as CSV (RFC 4180, with a header line) or as one JSON document per line,
 * with only one batch in memory. A batch contains the orders as they are when the batch is read. The audit log records
 * the export before the first order is sent.
 */
export function exportOrders(ports: Pick<Ports, 'store' | 'reports' | 'audit' | 'now'>) {
  const { store, reports, now } = ports;
  return async (
    requester: Pick<Requester, 'person'>,
    filter: OrderFilter,
    format: (typeof EXPORT_FORMATS)[number],
  ): Promise<Readable> => {
    const entry = {
      action: 'orders.exported',
      target: filter.project === undefined ? '*' : [filter.project].flat().join(','),
      after: { format, filter },
    };
    await store.transaction((tx) => addAuditEntry(ports, tx, requester, entry));
    const line = format === 'csv' ? toCsv : toJson;
    // The first batch is read before the response starts, because the response header `Replica-Lag` states how old the
    // data of the database replica is.
    const first = await batch(undefined);
    return Readable.from(parts(), { objectMode: false, highWaterMark: 64 * 1024 });

    async function* parts(): AsyncGenerator<Buffer> {
      if (format === 'csv') yield Buffer.from(csvLine([...EXPORTED, ...SETTLED]));
      for (let part = first; ; part = await batch(part.orders.at(-1)?.position)) {
        if (part.orders.length > 0) yield Buffer.from(part.orders.map(({ view }) => line(view)).join(''));
        if (!part.hasMore) return;
      }
    }

    async function batch(after: Position | undefined) {
      return reports.read(async (tx) => {
        const rows = await listOrders(tx, filter, after, BATCH);
        const shown = rows.slice(0, BATCH);
        const exceptions = await openExceptions(
          tx,
          shown.map(({ orderNo }) => orderNo),
        );
        const fees = await feesOf(tx, shown, now());
        const orders = shown.map((order) => ({
          view: viewOrder(order, { exceptions: exceptions.get(order.orderNo), fees: fees.get(order.orderNo) }),
          position: { createdAt: order.createdAt, id: order.orderNo },
        }));
        return { orders, hasMore: rows.length > BATCH };
      });
    }
  };
}

export type ExportOrders = ReturnType<typeof exportOrders>;

function toJson(order: OrderEntryView): string {
  const { stale: _stale, ...shown } = order;
  return `${JSON.stringify(shown)}\n`;
}

function toCsv(order: OrderEntryView): string {
  const settled = SETTLED.map((member) => order.settlement?.[member]?.amount ?? null);
  return csvLine([...EXPORTED.map((column) => order[column]), ...settled]);
}
