// Lists for administrators: exceptions (cases for an operator), approvals and disputes.

import { type RawBuilder, sql } from 'kysely';
import type { OrderExceptionRow } from '../entities/orders.ts';
import type { ApprovalRow, DisputeRow } from '../entities/refunds.ts';
import { asJson } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';

export interface ExceptionFilter {
  state?: string | undefined;
  kind?: string | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/** The exceptions that match the filter, newest first, at most `limit` + 1 rows. */
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

/** Counts a repeated notification in its exception and adds the new details; false if the exception does not exist. */
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

export interface ApprovalFilter {
  state?: ApprovalRow['state'] | undefined;
  orderNo?: string | undefined;
  project?: Projects | undefined;
}

/**
 * An administrator who creates an account or application, or changes its secrets or rights, controls it for this many
 * days.
 */
export const HANDLED_DAYS = 30;

/** SQL: the audit line `l` is a recent creation, change or second-factor reset of an account by an administrator. */
const handledSince = (now: Date): RawBuilder<boolean> => sql`l.actor_kind = 'admin'
  and l.action in ('admin.create', 'admin.update', 'admin.reset-second-factor') and l.at >= ${handlingBegan(now)}`;
/** SQL: the audit line `l` is the creation of the account `a`, not of an earlier account with the same name. */
const MADE = sql<boolean>`l.target = a.username and l.actor_kind = 'admin' and l.action = 'admin.create'
  and l.at >= a.created_at - interval '1 minute'`;

interface Dependence {
  /** When the approver's account was created; null = the account no longer exists. */
  madeAt: Date | null;
  /** Whether the requester created the approver's account, at any time. */
  madeByRequester: boolean;
  /** The administrators who controlled both accounts within `HANDLED_DAYS`, the requester and the approver included. */
  common: readonly string[];
}

/**
 * Reads from the audit log how an approver depends on the requester, which is an account or an application. An
 * administrator controls an account after creating it, changing it or resetting its second factor. Whoever controls
 * this administrator controls the account too. An application is controlled by the administrators that created it,
 * enabled or disabled it, issued a secret or changed its rights. For all this only the last `HANDLED_DAYS` count.
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

/**
 * Counts the accounts that can approve a request of at least one other account. An account cannot approve a request of
 * the account that created it. It cannot approve a request either if one administrator controls both accounts.
 */
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

/** The approvals that match the filter, newest first, at most `limit` + 1 rows. */
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

export interface DisputeFilter {
  disputeNo?: string | undefined;
  orderNo?: string | undefined;
  channelDisputeNo?: string | undefined;
  clientId?: string | undefined;
  project?: Projects | undefined;
  payWay?: string | undefined;
  status?: string | undefined;
}

/** The disputes that match the filter, newest first, at most `limit` + 1 rows. */
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
