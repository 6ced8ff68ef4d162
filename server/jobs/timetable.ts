import type { Store, Tx } from '../db/store.ts';
import { beginWork } from '../work.ts';
import type { Log } from './queues.ts';

/** A periodic task that one replica runs for all. */
export interface Task {
  name: string;
  everySeconds: number;
  /** Long tasks check `goesOn` periodically: false when this replica stops. */
  run: (goesOn: () => boolean) => Promise<unknown>;
}

/** The dependencies of the timetable; `takeTask` and `planTask` store in the database when a task is due. */
export interface TimetablePorts {
  store: Store;
  now: () => Date;
  log: Log;
  takeTask: (tx: Tx, task: string, now: Date, leasedUntil: Date) => Promise<boolean>;
  planTask: (tx: Tx, task: string, at: Date) => Promise<void>;
}

/** Runs tasks when they are due. */
interface Timetable {
  /** Starts due tasks that are not running in this process. */
  look(): void;
  /** Resolves when no task is running. */
  idle(): Promise<void>;
  /** Starts no new tasks and ends long tasks early; resolves when no task is running. */
  stop(): Promise<void>;
}

/** A task that failed, or whose replica crashed, is retried after this long. */
const LEASE_SECONDS = 600;
/** A replica checks in the database for a task at most this often. */
const PAUSE_SECONDS = 60;

/** Creates a timetable; a task that became due while no replica ran starts immediately. */
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
      // An interrupted task is due again when its lease expires.
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
