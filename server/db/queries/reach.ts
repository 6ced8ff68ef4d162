import type { ReadTx } from '../store.ts';
import { arrayText } from '../table.ts';

/** Whose rows are meant: one project's that was asked for, or those of all that the reader is limited to. */
export type Projects = string | readonly string[];

/** The condition that a column names one of them, and the value of its parameter. */
export function ofProjects(column: string, projects: Projects): [part: string, value: string] {
  // An equality lets an index give the newest first.
  const one = typeof projects === 'string' ? projects : projects.length === 1 ? projects[0] : undefined;
  return one === undefined
    ? [`${column} = any(?::text[])`, arrayText(projects as readonly string[])]
    : [`${column} = ?`, one];
}

/** By thing, the projects that one belongs to; a bill is that of every project for whose keys the channel gives it. */
const PROJECTS_OF = {
  project: 'select code as project from projects where code = ?',
  app: 'select project from api_apps where client_id = ?',
  order: 'select project from orders where order_no = ?',
  refund: 'select project from refunds where refund_no = ?',
  approval: 'select project from approvals where refund_no = ?',
  dispute: 'select project from disputes where dispute_no = ?',
  exception: 'select project from order_exceptions where id = ?::uuid',
  event: 'select project from events where id = ?',
  cert: 'select project from certs where id = ?::uuid',
  bill: `select project from bills where bill_no = ?
         union select p.project from bills b join payees p
                 on p.pay_way = b.pay_way and p.payee = b.account and p.mode = b.mode where b.bill_no = ?`,
} as const;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The projects of a thing; none when it is not there. */
export async function projectsOf(tx: ReadTx, thing: keyof typeof PROJECTS_OF, id: string): Promise<string[]> {
  const statement = PROJECTS_OF[thing];
  if (statement.includes('::uuid') && !UUID.test(id)) return [];
  const rows = await tx.prepared<{ project: string }>(
    statement,
    Array.from(statement.matchAll(/\?/g), () => id),
  );
  return rows.map(({ project }) => project);
}

/** The projects that share the payees of a project at a channel, itself among them. */
export async function sharersOf(
  tx: ReadTx,
  { project, payWay, account }: { project: string; payWay: string; account?: string | undefined },
): Promise<string[]> {
  const rows = await tx.prepared<{ project: string }>(
    `select distinct o.project from payees m
       join channel_configs c on c.project = m.project and c.pay_way = m.pay_way and c.version = m.version
       join payees o on o.pay_way = m.pay_way and o.payee = m.payee and o.mode = m.mode
      where m.project = ? and m.pay_way = ? and (?::text is null or ? in (m.payee, c.account))`,
    [project, payWay, account ?? null, account ?? null],
  );
  return rows.map((row) => row.project);
}
