import type { AdminRow, ApiAppRow } from '../entities/identity.ts';
import type { AppFilter, Part } from '../../identity/ports.ts';
import type { ReadTx } from '../store.ts';
import { ofProjects } from './reach.ts';

/** Applications, newest first, one more than `limit`. */
export async function apps(tx: ReadTx, filter: AppFilter): Promise<ApiAppRow[]> {
  const { kinds, project, enabled = null, name = null } = filter;
  const [inProject, ...ofProject] = project === undefined ? ['true'] : ofProjects('project', project);
  const ids = await tx.sql<{ id: string }>(
    `select client_id as id from api_apps
      where kind in (${kinds.map(() => '?').join(', ')})
        and ${inProject} and (?::boolean is null or enabled = ?) and (?::text is null or name = ?)
        and ${behind('client_id')}
      order by created_at desc, client_id desc limit ?`,
    [...kinds, ...ofProject, enabled, enabled, name, name, ...place(filter)],
  );
  const rows = await tx.apps.list({ clientId: ids.map(({ id }) => id) });
  return inOrder(ids, rows, ({ clientId }) => clientId);
}

/** Administrators, newest first, one more than `limit`. */
export async function admins(tx: ReadTx, part: Part & { username?: string }): Promise<AdminRow[]> {
  const { username = null } = part;
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from admins where (?::text is null or username = ?) and ${behind('id::text')}
      order by created_at desc, id::text desc limit ?`,
    [username, username, ...place(part)],
  );
  const rows = await tx.admins.list({ id: ids.map(({ id }) => id) });
  return inOrder(ids, rows, ({ id }) => id);
}

/** The rows after a cursor; `place` has its parameters. */
export function behind(id: string, createdAt = 'created_at'): string {
  return `(?::timestamptz is null or (${createdAt}, ${id}) < (?::timestamptz, ?))`;
}

/** The parameters of `behind` and of `limit`, which reads one row more to see whether there are more. */
export function place({ cursor, limit }: Part): unknown[] {
  const at = cursor?.createdAt ?? null;
  return [at, at, cursor?.id ?? '', limit + 1];
}

/** Rows in the order of their ids; a row that went in between is left out. */
export function inOrder<Row>(ids: readonly { id: string }[], rows: readonly Row[], idOf: (row: Row) => string): Row[] {
  const byId = new Map(rows.map((row) => [idOf(row), row]));
  return ids.map(({ id }) => byId.get(id)).filter((row) => row !== undefined);
}
