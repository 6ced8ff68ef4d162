import type { Store, Tx } from '../db/store.ts';
import { beginWork } from '../work.ts';
import type { Log } from './queues.ts';

/** What is done again and again, by one replica for all. */
export interface Task {
  name: string;
  everySeconds: number;
  /** Long work asks `goesOn` from time to time: false when this replica stops. */
  run: (goesOn: () => boolean) => Promise<unknown>;
}

/** What the timetable needs; `takeTask` and `planTask` keep in the database when a task is due. */
export interface TimetablePorts {
  store: Store;
  now: () => Date;
  log: Log;
  takeTask: (tx: Tx, task: string, now: Date, leasedUntil: Date) => Promise<boolean>;
  planTask: (tx: Tx, task: string, at: Date) => Promise<void>;
}

/** Runs tasks when they are due. */
interface Timetable {
  /** Begins whatever is due and not under way here. */
  look(): void;
  /** Resolves when no task is under way. */
  idle(): Promise<void>;
  /** Begins nothing new and has long tasks end early; resolves when none is under way. */
  stop(): Promise<void>;
}

/** A task that failed, or whose replica died, is tried again after this long. */
const LEASE_SECONDS = 600;
/** A replica that found nothing to do asks again after this long. */
const PAUSE_SECONDS = 60;

/** A timetable over the tasks; a task that was due while nobody ran is done at the start. */
export function createTimetable(
  tasks: readonly Task[],
  { store, now, log, takeTask, planTask }: TimetablePorts,
): Timetable {
  const asked = new Map<Task, Date>();
  const underWay = new Map<Task, Promise<void>>();
  let stopped = false;
  return {
    look() {
      if (stopped) return;
      for (const task of tasks)
        if (!underWay.has(task) && (asked.get(task) ?? now()) <= now())
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
    asked.set(task, after(at, PAUSE_SECONDS));
    try {
      if (!(await store.transaction((tx) => takeTask(tx, task.name, at, after(at, LEASE_SECONDS))))) return;
      await task.run(() => !stopped);
      // What a stop cut short is due again when its lease ends.
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
