import type { ApiAppRow } from './entities/identity.ts';
import type { Store, Tx } from './store.ts';

/** The rows that the service begins with; identity makes them, so that hashes and defaults have one source. */
export interface SeedRows {
  consoleApp(project: string, at: Date): ApiAppRow;
  /** The test applications of Debug. */
  testApps(at: Date): ApiAppRow[];
}

/**
 * Makes sure that the project `default` and its console application are there, and with `debug` the test applications
 * with their fixed secrets. Safe when several replicas start at once, and on every start.
 */
export function seed(store: Store, rows: SeedRows, { debug, now }: { debug: boolean; now: () => Date }): Promise<void> {
  return store.transaction(async (tx) => {
    const at = now();
    const project = { code: 'default', name: 'Default', enabled: true, remark: null, createdAt: at, updatedAt: at };
    await tx.projects.insertIfNew(project);
    await tx.apps.insertIfNew(rows.consoleApp('default', at));
    if (debug) for (const app of rows.testApps(at)) await restore(tx, app);
  });
}

/** A test application that was changed gets its fixed secret, scopes and switch back. */
async function restore(tx: Tx, app: ApiAppRow): Promise<void> {
  if (await tx.apps.insertIfNew(app)) return;
  const { clientId, secretHash, secretHint, scopes, trusted, enabled } = app;
  await tx.apps.update(
    { clientId, kind: 'test' },
    { secretHash, secretHint, previousSecretHash: null, previousSecretExpiresAt: null, scopes, trusted, enabled },
  );
}
