import type { Store, Tx } from '../../server/db/store.ts';

/** Rows that a test holds: meanwhile transactions of the store soon give up waiting for them, instead of after the patience of a test. */
export function holdRows() {
  let isHeld = false;
  return {
    through: (inner: Store): Store => ({
      ...inner,
      transaction: (work) =>
        inner.transaction(async (tx) => {
          if (isHeld) await tx.sql`set local lock_timeout = 100`;
          return work(tx);
        }),
    }),
    /** Holds what `lock` locks in a transaction of its own until it is let go. */
    async hold(store: Store, lock: (tx: Tx) => Promise<unknown>): Promise<() => Promise<void>> {
      const [held, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const holder = store.transaction(async (tx) => {
        await lock(tx);
        held.resolve();
        await gate.promise;
      });
      await held.promise;
      isHeld = true;
      return async () => {
        isHeld = false;
        gate.resolve();
        await holder;
      };
    },
  };
}
