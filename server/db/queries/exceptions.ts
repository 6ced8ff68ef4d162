// Lists that wait for a person: exceptions, approvals and disputes.

import { type RawBuilder, sql } from 'kysely';
import type { OrderExceptionRow } from '../entities/orders.ts';
import type { ApprovalRow, DisputeRow } from '../entities/refunds.ts';
import { asJson } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';

/** Filters of the exceptions list. */
export interface ExceptionFilter {
  state?: string | undefined;
  kind?: string | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/** Exceptions that match, newest first, one more than asked. */
export function listExceptions(
  tx: ReadTx,
  filter: ExceptionFilter,
  after: Position | undefined,
  limit: number,
): Promise<OrderExceptionRow[]> {
  const parts = equalities('order_exceptions', filter, ['state', 'kind', 'orderNo']);
  if (filter.project !== undefined) parts.push(ofProjects('project', filter.project));
  return newestFirst(tx.exceptions, sql`id::text`, parts, after, limit + 1).execute();
}

/** Notes another message about the same: `detail` gets the newer members, and its count of notices one more; false when there is none. */
export async function countNotification(
  tx: Tx,
  { orderNo, kind, dedupe, detail }: Pick<OrderExceptionRow, 'orderNo' | 'kind' | 'dedupe' | 'detail'>,
): Promise<boolean> {
  const rows = await tx.sql`
    update order_exceptions
       set detail = detail || ${asJson(detail)} || jsonb_build_object('notices', (detail->>'notices')::int + 1)
     where order_no = ${orderNo} and kind = ${kind} and dedupe = ${dedupe}
    returning id`;
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

/** Lines by which an administrator got an account into its hands. */
const handledSince = (now: Date): RawBuilder<boolean> => sql`l.actor_kind = 'admin'
  and l.action in ('admin.create', 'admin.update', 'admin.reset-second-factor') and l.at >= ${handlingBegan(now)}`;
/** The line of the account's own making, not of an earlier one of its name. */
const MADE = sql<boolean>`l.target = a.username and l.actor_kind = 'admin' and l.action = 'admin.create'
  and l.at >= a.created_at - interval '1 minute'`;

/** Reasons against an administrator as the second pair of eyes. */
interface Dependence {
  /** When the account was made; none = it is gone. */
  madeAt: Date | null;
  /** The administrator that asked made the account, however long ago. */
  madeByRequester: boolean;
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
  const [kind, requester] = [askedBy.startsWith('app:') ? 'app' : 'admin', askedBy.slice(askedBy.indexOf(':') + 1)];
  const [row] = await tx.sql<Dependence>`
    with recursive hands (side, name) as (
        (select 'approver', cast(${username} as text)
         union select 'requester', cast(${requester} as text) where ${kind} = 'admin'
         union select 'requester', l.actor from audit_log l
                where ${kind} = 'app' and l.target = ${requester} and l.actor_kind = 'admin' and l.at >= ${handlingBegan(now)}
                  and (l.action in ('app.create', 'app.toggle', 'app.rotate-secret', 'app.prepare-secret')
                    or l.action = 'app.update'
                       and (l.before->'scopes', l.before->'allowedIps', l.before->'trusted', l.before->'limits')
                           is distinct from (l.after->'scopes', l.after->'allowedIps', l.after->'trusted', l.after->'limits')))
        union
        select h.side, l.actor from hands h join audit_log l on l.target = h.name
         where ${handledSince(now)})
    select a.created_at as made_at,
           ${kind} = 'admin' and exists(select 1 from audit_log l where ${MADE} and l.actor = ${requester}) as made_by_requester,
           array(select name from hands group by name having count(*) > 1 order by name) as common
      from admins a where a.username = ${username}`;
  return row ?? { madeAt: null, madeByRequester: false, common: [] };
}

/** How many accounts may approve what some other account asks for now: those that the other one did not make, and that nobody had in hand together with it. */
export async function approvers(tx: ReadTx, now: Date): Promise<number> {
  const [row] = await tx.sql<{ count: number }>`
    with recursive people as (select username, created_at from admins where enabled and role in ('operator', 'admin')),
      hands (username, name) as (
        select username, cast(username as text) from people
        union
        select h.username, l.actor from hands h join audit_log l on l.target = h.name where ${handledSince(now)})
     select count(*)::int as count from people a
      where exists(
        select 1 from people requester
         where requester.username <> a.username
           and not exists(select 1 from audit_log l where ${MADE} and l.actor = requester.username)
           and not exists(select 1 from hands one join hands other on other.name = one.name
                           where one.username = a.username and other.username = requester.username))`;
  return row?.count ?? 0;
}

function handlingBegan(now: Date): Date {
  return new Date(now.getTime() - HANDLED_DAYS * 86_400_000);
}

/** Approvals that match, newest first, one more than asked. */
export function listApprovals(
  tx: ReadTx,
  filter: ApprovalFilter,
  after: Position | undefined,
  limit: number,
): Promise<ApprovalRow[]> {
  const parts = equalities('approvals', filter, ['state', 'orderNo']);
  if (filter.project !== undefined) parts.push(ofProjects('project', filter.project));
  return newestFirst(tx.approvals, sql`refund_no`, parts, after, limit + 1).execute();
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
export function listDisputes(
  tx: ReadTx,
  { status, project, ...filter }: DisputeFilter,
  after: Position | undefined,
  limit: number,
): Promise<DisputeRow[]> {
  const parts = equalities('disputes', { ...filter, state: status }, [
    'disputeNo',
    'orderNo',
    'channelDisputeNo',
    'clientId',
    'payWay',
    'state',
  ]);
  if (project !== undefined) parts.push(ofProjects('project', project));
  return newestFirst(tx.disputes, sql`dispute_no`, parts, after, limit + 1).execute();
}
