import type { Store, Tx } from '../../server/db/store.ts';

/** A store whose transactions dawdle between their statements, so that those of others come in between; notes what PostgreSQL refused. */
export interface JitteryStore extends Store {
  /** SQLSTATE of every statement that failed. */
  readonly failures: string[];
}

function isBuilder(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'compile' in value;
}

/** Lets every statement of a transaction be followed by a pause of up to `ms`. */
export function withJitter(store: Store, ms: number): JitteryStore {
  const failures: string[] = [];
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * ms));
  const note = (error: unknown): never => {
    for (let one = error; one instanceof Error; one = one.cause)
      if ('code' in one && /^[0-9A-Z]{5}$/.test(String(one.code))) failures.push(String(one.code));
    throw error;
  };
  const jittery = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member === 'object' && member !== null) return jittery(member);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => {
          const [first] = given;
          if (name === 'savepoint')
            return (target as unknown as Tx).savepoint((part) =>
              (first as (tx: Tx) => Promise<unknown>)(jittery(part)),
            );
          const result: unknown = Reflect.apply(member, target, given);
          if (result instanceof Promise) return result.catch(note).finally(pause);
          // A statement that is still being built.
          return isBuilder(result) ? jittery(result) : result;
        };
      },
    });
  return {
    failures,
    read: (work) => store.read(work),
    autocommit: (work) => store.autocommit(work),
    transaction: (work) => store.transaction((tx) => work(jittery(tx))),
  };
}
