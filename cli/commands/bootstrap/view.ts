import type { Context } from '../../context.ts';
import type { View } from '../../values.ts';

/** How a database is shown. */
export const DATABASE: View = {
  noun: 'database',
  id: 'place',
  columns: [
    { field: 'kind' },
    { field: 'place' },
    { field: 'name' },
    { field: 'schemaVersion' },
    { field: 'pendingMigrations' },
    { field: 'administrators' },
    { field: 'bootstrapped', kind: 'yesno' },
  ],
};

/** How a created administrator is shown. */
export const ADMIN: View = {
  noun: 'admin',
  id: 'username',
  columns: [{ field: 'username' }, { field: 'role' }, { field: 'id', kind: 'id' }, { field: 'changed', kind: 'yesno' }],
};

/** How a created application is shown. */
export const APP: View = {
  noun: 'app',
  id: 'client_id',
  columns: [
    { field: 'client_id', kind: 'id' },
    { field: 'name' },
    { field: 'project' },
    { field: 'scopes' },
    { field: 'changed', kind: 'yesno' },
  ],
};

/** Runs work that may have been done before: with --if-none that is no failure, and `{ "changed": false }` is printed. */
export async function unlessDone(
  { print }: Context,
  ifNone: boolean | undefined,
  view: View,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const doneBefore =
      error instanceof Error &&
      'code' in error &&
      (error.code === 'already_bootstrapped' || error.code === 'already_exists');
    if (!ifNone || !doneBefore) throw error;
    await print.item({ changed: false }, { ...view, id: 'changed', columns: [{ field: 'changed', kind: 'yesno' }] });
    await print.done('It exists already; nothing was changed.');
  }
}
