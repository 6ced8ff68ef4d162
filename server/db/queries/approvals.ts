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

/** Reasons against an administrator as the second pair of eyes. */
export interface Dependence {
  /** When the account was made; none = it is gone. */
  madeAt: Date | null;
  /** The administrator that asked made the account, or changed it or its second factor since an instant. */
  madeByAsker: boolean;
  /** The administrator made the application that asked, or gave out or widened a credential of it since an instant. */
  handledApp: boolean;
}

/** How an administrator stands to the account or application that asked, by the audit log. */
export async function dependenceOf(
  tx: ReadTx,
  { username, askedBy, since }: { username: string; askedBy: string; since: Date },
): Promise<Dependence> {
  const [kind, asker] = [askedBy.startsWith('app:') ? 'app' : 'admin', askedBy.slice(askedBy.indexOf(':') + 1)];
  const [row] = await tx.prepared<Omit<Dependence, 'madeAt'> & { madeAt: string }>(
    `select a.created_at as "madeAt",
            ? = 'admin' and exists(
              select 1 from audit_log l
               where l.target = a.username and l.actor = ? and l.actor_kind = 'admin'
                 and (l.action = 'admin.create' and l.at >= a.created_at - interval '1 minute'
                   or l.action in ('admin.update', 'admin.reset-second-factor') and l.at >= ?)) as "madeByAsker",
            ? = 'app' and exists(
              select 1 from audit_log l
               where l.target = ? and l.actor = a.username and l.actor_kind = 'admin' and l.at >= ?
                 and (l.action in ('app.create', 'app.toggle', 'app.rotate-secret', 'app.prepare-secret')
                   or l.action = 'app.update'
                      and (l.before->'scopes', l.before->'allowedIps', l.before->'trusted', l.before->'limits')
                          is distinct from (l.after->'scopes', l.after->'allowedIps', l.after->'trusted', l.after->'limits'))) as "handledApp"
       from admins a where a.username = ?`,
    [kind, asker, since, kind, asker, since, username],
  );
  return row ? { ...row, madeAt: new Date(row.madeAt) } : { madeAt: null, madeByAsker: false, handledApp: false };
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
