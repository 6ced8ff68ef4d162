import { CommitUnknown } from '../../../server/errors.ts';
import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import { aspectOf } from './fates.ts';
import type { Step, World } from './world.ts';

/** The database did not respond, and did nothing. */
export class DatabaseGone extends Error {
  constructor() {
    super('the connection to the database broke');
    this.name = 'DatabaseGone';
  }
}

const READS = [
  ['told', 1000],
  ['gone', 2],
] as const;

/** `lost`: made without a response; `undone`: not made and without a response; `gone`: it never began. */
const WRITES = [
  ['told', 1000],
  ['lost', 6],
  ['undone', 6],
  ['gone', 3],
] as const;

/** The time that the database or the replica takes for a step. */
const PACES = [
  ['quick', 1000],
  ['slow', 25],
  ['stalled', 2],
] as const;

const ANSWER = aspectOf('answer of ');
const PACE = aspectOf('pace of ');

class Undone extends Error {}

/** A replica's store: each read and each transaction is one step, which may fail in any way. */
export function sickStore(world: World): Store {
  const { database, fates, counts } = world;
  const { store } = database;

  function paceOf(step: Step): number {
    const pace = fates.draw(step, PACES);
    const luck = fates.luck(step, PACE);
    if (pace === 'quick') return 1 + Math.floor(luck * 6);
    return pace === 'slow' ? 50 + Math.floor(luck * 2_500) : 40_000 + Math.floor(luck * 60_000);
  }

  async function read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const step = world.nextStep();
    if (step.task.life.dead) return new Promise(() => {});
    const fate = fates.draw(step, READS, ANSWER);
    return world.later(step, ` reads${WORDS[fate]}`, paceOf(step), async () => {
      if (fate === 'gone') throw new DatabaseGone();
      return store.read(work);
    });
  }

  async function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const step = world.nextStep();
    if (step.task.life.dead) return new Promise(() => {});
    const fate = fates.draw(step, WRITES, ANSWER);
    return world.later(step, ` commits${WORDS[fate]}`, paceOf(step), async () => {
      if (fate === 'gone') throw new DatabaseGone();
      counts.transactions += 1;
      if (fate === 'undone') await undone(work);
      const result = await store.transaction(work);
      if (fate === 'lost') throw new CommitUnknown(new DatabaseGone());
      return result;
    });
  }

  /** Everything except the COMMIT. */
  async function undone(work: (tx: Tx) => Promise<unknown>): Promise<never> {
    await store
      .transaction(async (tx) => {
        await work(tx);
        throw new Undone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
    throw new CommitUnknown(new DatabaseGone());
  }

  return { read, transaction: write, autocommit: write };
}

const WORDS = {
  told: '',
  lost: ', and the answer to COMMIT is lost',
  undone: ', and the connection breaks at COMMIT',
  gone: ', and the database is gone',
} as const;
