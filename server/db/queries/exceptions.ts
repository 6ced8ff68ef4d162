// Lists that wait for a person: exceptions, approvals and disputes.

import type { OrderExceptionRow } from '../entities/orders.ts';
import type { ApprovalRow, DisputeRow } from '../entities/refunds.ts';
import type { ReadTx, Tx } from '../store.ts';
import { arrayText } from '../table.ts';
import type { Position } from './orders.ts';
import { type Projects, ofProjects } from './reach.ts';

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
  for (const [member, column] of EXCEPTION_EQUALITIES)
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

const EXCEPTION_EQUALITIES = [
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

/** Filters of the list of approvals. */
export interface ApprovalFilter {
  state?: ApprovalRow['state'] | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/** For so many days an account or application is in the hands of an administrator that made it, or gave out or changed a credential of it. */
export const HANDLED_DAYS = 30;

/** Lines by which an administrator got an account into its hands; its parameters are `handling`. */
const HANDLED = `l.actor_kind = 'admin' and l.action = any(?::text[]) and l.at >= ?`;
/** The line of the account's own making, not of an earlier one of its name. */
const MADE = `l.target = a.username and l.actor_kind = 'admin' and l.action = 'admin.create'
              and l.at >= a.created_at - interval '1 minute'`;

/** Reasons against an administrator as the second pair of eyes. */
interface Dependence {
  /** When the account was made; none = it is gone. */
  madeAt: Date | null;
  /** The administrator that asked made the account, however long ago. */
  madeByAsker: boolean;
  /** Administrators that had both in hand within `HANDLED_DAYS`: what asked and the account that approves. Either may be one of them. */
  common: readonly string[];
}

/**
 * How an administrator stands to the account or application that asked, by the audit log. An account is in the hands of itself, of an
 * administrator that made or changed it or its second factor, and of those in whose hands that one is; an application in the hands
 * of administrators that made it, or gave out or widened a credential of it.
 */
export async function dependenceOf(
  tx: ReadTx,
  { username, askedBy, now }: { username: string; askedBy: string; now: Date },
): Promise<Dependence> {
  const since = handledSince(now);
  const [kind, asker] = [askedBy.startsWith('app:') ? 'app' : 'admin', askedBy.slice(askedBy.indexOf(':') + 1)];
  const [row] = await tx.prepared<Omit<Dependence, 'madeAt'> & { madeAt: string }>(
    `with recursive hands (side, name) as (
        (select 'approver', cast(? as text)
         union select 'asker', cast(? as text) where ? = 'admin'
         union select 'asker', l.actor from audit_log l
                where ? = 'app' and l.target = ? and l.actor_kind = 'admin' and l.at >= ?
                  and (l.action in ('app.create', 'app.toggle', 'app.rotate-secret', 'app.prepare-secret')
                    or l.action = 'app.update'
                       and (l.before->'scopes', l.before->'allowedIps', l.before->'trusted', l.before->'limits')
                           is distinct from (l.after->'scopes', l.after->'allowedIps', l.after->'trusted', l.after->'limits')))
        union
        select h.side, l.actor from hands h join audit_log l on l.target = h.name
         where ${HANDLED})
     select a.created_at as "madeAt",
            ? = 'admin' and exists(select 1 from audit_log l where ${MADE} and l.actor = ?) as "madeByAsker",
            array(select name from hands group by name having count(*) > 1 order by name) as common
       from admins a where a.username = ?`,
    [username, asker, kind, kind, asker, since, ...handling(since), kind, asker, username],
  );
  return row ? { ...row, madeAt: new Date(row.madeAt) } : { madeAt: null, madeByAsker: false, common: [] };
}

/** How many accounts may approve what some other account asks for now: those that the other one did not make, and that nobody had in hand together with it. */
export async function approvers(tx: ReadTx, now: Date): Promise<number> {
  const [row] = await tx.sql<{ count: number }>(
    `with recursive people as (select username, created_at from admins where enabled and role in ('operator', 'admin')),
      hands (username, name) as (
        select username, cast(username as text) from people
        union
        select h.username, l.actor from hands h join audit_log l on l.target = h.name where ${HANDLED})
     select count(*)::int as count from people a
      where exists(
        select 1 from people asker
         where asker.username <> a.username
           and not exists(select 1 from audit_log l where ${MADE} and l.actor = asker.username)
           and not exists(select 1 from hands one join hands other on other.name = one.name
                           where one.username = a.username and other.username = asker.username))`,
    handling(handledSince(now)),
  );
  return row?.count ?? 0;
}

function handling(since: Date): [actions: string, since: Date] {
  return [arrayText(['admin.create', 'admin.update', 'admin.reset-second-factor']), since];
}

function handledSince(now: Date): Date {
  return new Date(now.getTime() - HANDLED_DAYS * 86_400_000);
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
  for (const [member, column] of DISPUTE_EQUALITIES)
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

const DISPUTE_EQUALITIES = [
  ['disputeNo', 'dispute_no'],
  ['orderNo', 'order_no'],
  ['channelDisputeNo', 'channel_dispute_no'],
  ['clientId', 'client_id'],
  ['payWay', 'pay_way'],
  ['status', 'state'],
] as const;
