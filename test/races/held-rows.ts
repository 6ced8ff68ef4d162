import type { Store, Tx } from '../../server/db/store.ts';

/**
 * Returns a store hook that holds row locks: meanwhile the store's transactions give up waiting early, instead of after the test's
 * long time-out.
 */
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
    /** Locks rows in a transaction of its own until it is released. */
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
