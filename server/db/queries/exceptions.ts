import type { OrderExceptionRow } from '../entities/orders.ts';
import type { ReadTx, Tx } from '../store.ts';
import type { Position } from './orders.ts';
import { ofProjects, type Projects } from './reach.ts';

/** Filters of the exceptions list. */
export interface ExceptionFilter {
  state?: string | undefined;
  kind?: string | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/** Exceptions that match, newest first, one more than asked. */
export async function listExceptions(
  tx: ReadTx,
  filter: ExceptionFilter,
  after: Position | undefined,
  limit: number,
): Promise<OrderExceptionRow[]> {
  const parts: string[] = ['true'];
  const parameters: unknown[] = [];
  for (const [member, column] of EQUALITIES)
    if (filter[member] !== undefined) {
      parts.push(`e.${column} = ?`);
      parameters.push(filter[member]);
    }
  if (filter.project !== undefined) {
    const [part, value] = ofProjects('e.project', filter.project);
    parts.push(part);
    parameters.push(value);
  }
  if (after) {
    parts.push('(e.created_at, e.id::text) < (?, ?)');
    parameters.push(after.createdAt, after.id);
  }
  const rows = await tx.sql<{ id: string }>(
    `select e.id from order_exceptions e where ${parts.join(' and ')} order by e.created_at desc, e.id::text desc limit ${limit + 1}`,
    parameters,
  );
  if (rows.length === 0) return [];
  const found = await tx.exceptions.list({ id: rows.map(({ id }) => id) });
  const byId = new Map(found.map((row) => [row.id, row]));
  return rows.flatMap(({ id }) => byId.get(id) ?? []);
}

const EQUALITIES = [
  ['state', 'state'],
  ['kind', 'kind'],
  ['orderNo', 'order_no'],
] as const;

/** Notes another message about the same: `detail` gets what is newer, and its count of notices one more; false when there is none. */
export async function countNotice(
  tx: Tx,
  { orderNo, kind, dedupe, detail }: Pick<OrderExceptionRow, 'orderNo' | 'kind' | 'dedupe' | 'detail'>,
): Promise<boolean> {
  const rows = await tx.sql(
    `update order_exceptions
      set detail = detail || ?::jsonb || jsonb_build_object('notices', (detail->>'notices')::int + 1)
      where order_no = ? and kind = ? and dedupe = ?
      returning id`,
    [JSON.stringify(detail), orderNo, kind, dedupe],
  );
  return rows.length > 0;
}
