import { type RawBuilder, sql } from 'kysely';
import type { ReadTx } from '../store.ts';

/** The projects that a query may read: the requested project, or the list of projects that the requester may access. */
export type Projects = string | readonly string[];

/** SQL condition: a column contains one of the projects. */
export function ofProjects(column: string, projects: Projects): RawBuilder<boolean> {
  // A single project is compared with `=`, so that an index returns the newest rows first.
  const one = typeof projects === 'string' ? projects : projects.length === 1 ? projects[0] : undefined;
  return one === undefined ? sql`${sql.ref(column)} = any(${projects}::text[])` : sql`${sql.ref(column)} = ${one}`;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A bill belongs to every project whose configuration uses the account of the bill. */
const PROJECTS_OF = {
  project: (id: string) => sql`select code as project from projects where code = ${id}`,
  app: (id: string) => sql`select project from api_apps where client_id = ${id}`,
  order: (id: string) => sql`select project from orders where order_no = ${id}`,
  refund: (id: string) => sql`select project from refunds where refund_no = ${id}`,
  approval: (id: string) => sql`select project from approvals where refund_no = ${id}`,
  dispute: (id: string) => sql`select project from disputes where dispute_no = ${id}`,
  exception: (id: string) => UUID.test(id) && sql`select project from order_exceptions where id = ${id}::uuid`,
  event: (id: string) => sql`select project from events where id = ${id}`,
  cert: (id: string) => UUID.test(id) && sql`select project from certs where id = ${id}::uuid`,
  bill: (id: string) => sql`select project from bills where bill_no = ${id}
    union select p.project from bills b join payees p
            on p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode where b.bill_no = ${id}`,
} as const;

/** The projects to which an object belongs; empty if the object does not exist. */
export async function projectsOf(tx: ReadTx, thing: keyof typeof PROJECTS_OF, id: string): Promise<string[]> {
  const statement = PROJECTS_OF[thing](id);
  if (!statement) return [];
  return (await tx.sql<{ project: string }>`${statement}`).map(({ project }) => project);
}

/** All projects that receive money for the payees of a project at a channel, including the project itself. */
export async function sharersOf(
  tx: ReadTx,
  { project, payWay, account = null }: { project: string; payWay: string; account?: string | null | undefined },
): Promise<string[]> {
  const rows = await tx.sql<{ project: string }>`
    select distinct o.project from payees m
      join channel_configs c on c.project = m.project and c.pay_way = m.pay_way and c.version = m.version
      join payees o on o.pay_way = m.pay_way and o.payee = m.payee and o.mode = m.mode
     where m.project = ${project} and m.pay_way = ${payWay}
       and (${account}::text is null or ${account} in (m.payee, c.account))`;
  return rows.map((row) => row.project);
}
