import type { DisputeRow } from '../entities/disputes.ts';
import type { ReadTx } from '../store.ts';
import type { Position } from './orders.ts';
import { ofProjects, type Projects } from './reach.ts';

/** Filters of the dispute list. */
export interface DisputeFilter {
  disputeNo?: string | undefined;
  orderNo?: string | undefined;
  channelDisputeNo?: string | undefined;
  clientId?: string | undefined;
  project?: Projects | undefined;
  payWay?: string | undefined;
  status?: string | undefined;
}

/** Disputes that match, newest first, one more than asked. */
export async function listDisputes(
  tx: ReadTx,
  filter: DisputeFilter,
  after: Position | undefined,
  limit: number,
): Promise<DisputeRow[]> {
  const parts: string[] = ['true'];
  const parameters: unknown[] = [];
  for (const [member, column] of EQUALITIES)
    if (filter[member] !== undefined) {
      parts.push(`d.${column} = ?`);
      parameters.push(filter[member]);
    }
  if (filter.project !== undefined) {
    const [part, value] = ofProjects('d.project', filter.project);
    parts.push(part);
    parameters.push(value);
  }
  if (after) {
    parts.push('(d.created_at, d.dispute_no) < (?, ?)');
    parameters.push(after.createdAt, after.id);
  }
  const rows = await tx.sql<{ dispute_no: string }>(
    `select d.dispute_no from disputes d where ${parts.join(' and ')} order by d.created_at desc, d.dispute_no desc limit ${limit + 1}`,
    parameters,
  );
  if (rows.length === 0) return [];
  const found = await tx.disputes.list({ disputeNo: rows.map((row) => row.dispute_no) });
  const byNumber = new Map(found.map((dispute) => [dispute.disputeNo, dispute]));
  return rows.flatMap((row) => byNumber.get(row.dispute_no) ?? []);
}

const EQUALITIES = [
  ['disputeNo', 'dispute_no'],
  ['orderNo', 'order_no'],
  ['channelDisputeNo', 'channel_dispute_no'],
  ['clientId', 'client_id'],
  ['payWay', 'pay_way'],
  ['status', 'state'],
] as const;
