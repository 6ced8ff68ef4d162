import type { ApprovalRow } from '../entities/approvals.ts';
import type { ReadTx } from '../store.ts';
import type { Position } from './orders.ts';
import { ofProjects, type Projects } from './reach.ts';

/** Filters of the list of approvals. */
export interface ApprovalFilter {
  state?: ApprovalRow['state'] | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/** Approvals that match, newest first, one more than asked. */
export async function listApprovals(
  tx: ReadTx,
  { state, orderNo, project }: ApprovalFilter,
  after: Position | undefined,
  limit: number,
): Promise<ApprovalRow[]> {
  const [inProject, ...ofProject] = project === undefined ? ['true'] : ofProjects('project', project);
  const rows = await tx.prepared<{ refund_no: string }>(
    `select refund_no from approvals
      where (?::varchar is null or state = ?) and (?::varchar is null or order_no = ?) and ${inProject}
        and (?::timestamptz is null or (created_at, refund_no) < (?::timestamptz, ?::varchar))
      order by created_at desc, refund_no desc limit ?`,
    [
      ...[state, state, orderNo, orderNo].map((value) => value ?? null),
      ...ofProject,
      after?.createdAt ?? null,
      after?.createdAt ?? null,
      after?.id ?? null,
      limit + 1,
    ],
  );
  if (rows.length === 0) return [];
  const found = await tx.approvals.list({ refundNo: rows.map(({ refund_no: refundNo }) => refundNo) });
  const byNumber = new Map(found.map((row) => [row.refundNo, row]));
  return rows.flatMap(({ refund_no: refundNo }) => byNumber.get(refundNo) ?? []);
}
