import type { Store, Tx } from '../db/store.ts';
import { beginWork } from '../work.ts';
import type { Log } from './queues.ts';

/** A periodic task. For each run, one of the replicas executes the task. */
export interface Task {
  name: string;
  everySeconds: number;
  /** A long task ends early when `goesOn` returns false, which means that this replica is stopping. */
  run: (goesOn: () => boolean) => Promise<unknown>;
}

/** `takeTask` leases a due task, so that only one replica runs it. */
export interface TimetablePorts {
  store: Store;
  now: () => Date;
  log: Log;
  takeTask: (tx: Tx, task: string, now: Date, leasedUntil: Date) => Promise<boolean>;
  planTask: (tx: Tx, task: string, at: Date) => Promise<void>;
}

interface Timetable {
  /** Starts the tasks that are due and not yet running in this process. */
  look(): void;
  idle(): Promise<void>;
  /** Starts no new tasks and tells long tasks to end early. Resolves when no task is running. */
  stop(): Promise<void>;
}

/** If a task fails or its replica crashes, the task is retried after this time (s). */
const LEASE_SECONDS = 600;
/** Minimum interval (s) between two checks in the database whether a task is due. */
const PAUSE_SECONDS = 60;

/** Creates a timetable. A task that became due while no replica was running starts immediately. */
export function createTimetable(
  tasks: readonly Task[],
  { store, now, log, takeTask, planTask }: TimetablePorts,
): Timetable {
  const checkAt = new Map<Task, Date>();
  const underWay = new Map<Task, Promise<void>>();
  let stopped = false;
  return {
    look() {
      if (stopped) return;
      for (const task of tasks)
        if (!underWay.has(task) && (checkAt.get(task) ?? now()) <= now())
          underWay.set(
            task,
            beginWork({ job: task.name }, () => attempt(task)).finally(() => underWay.delete(task)),
          );
    },
    idle,
    stop() {
      stopped = true;
      return idle();
    },
  };

  async function idle(): Promise<void> {
    await Promise.all(underWay.values());
  }

  async function attempt(task: Task): Promise<void> {
    const at = now();
    checkAt.set(task, after(at, PAUSE_SECONDS));
    try {
      if (!(await store.transaction((tx) => takeTask(tx, task.name, at, after(at, LEASE_SECONDS))))) return;
      await task.run(() => !stopped);
      // A task that was ended early keeps its lease. It is due again when the lease expires (`LEASE_SECONDS`).
      if (stopped) return;
      await store.transaction((tx) => planTask(tx, task.name, after(at, task.everySeconds)));
    } catch (error) {
      log('error', 'a task failed', { task: task.name, error });
    }
  }
}

function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000);
}
