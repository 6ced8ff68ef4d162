import { own, type Contexts, type SessionStore } from '../../session.ts';
import type { Row, View } from '../../values.ts';
import { UsageError } from '../../errors.ts';

/** How contexts are shown. */
export const VIEW: View = {
  noun: 'context',
  id: 'name',
  columns: [
    { field: 'name', kind: 'id' },
    { field: 'current', kind: 'yesno' },
    { field: 'label', kind: 'status' },
    { field: 'server' },
    { field: 'user' },
    { field: 'loginExpiresAt', title: 'LOGIN', kind: 'time' },
  ],
};

/** A context as a row; its token is never part of it. */
export async function contextRow(contexts: Contexts, name: string, sessions: SessionStore): Promise<Row> {
  const saved = own(contexts.contexts, name);
  if (!saved) throw new UsageError(`Context "${name}" not found.`, 'payctl context list', 'context_unknown');
  const session = await sessions.session(name);
  return {
    name,
    current: contexts.current === name,
    label: saved.label,
    server: saved.server,
    user: saved.user ?? null,
    caFile: saved.caFile ?? null,
    allowHttp: saved.allowHttp === true,
    loginExpiresAt: session?.expiresAt ?? null,
  };
}
