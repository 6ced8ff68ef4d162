/** The simulated clock: real time plus an offset. Timestamps of signatures use real time. */
export interface Clock {
  /** Milliseconds since 1970 on the simulated clock. */
  now(): number;
  /** Runs `task` after `delayMs` of simulated time, multiplied by the time factor if `scaled`; returns the due time. */
  schedule(delayMs: number, task: () => unknown, scaled?: boolean): number;
  /** Advances the clock and runs the tasks that become due, earliest first. Resolves when these tasks have finished. */
  advance(milliseconds: number): Promise<void>;
  stop(): void;
}

interface Task {
  due: number;
  run: () => unknown;
  timer: NodeJS.Timeout | undefined;
}

/** Longest delay of a Node timer (ms). */
const LONGEST = 2_147_483_647;

/** Creates a clock that starts `offset` milliseconds ahead; `onError` receives the errors of tasks. */
export function createClock(offset: number, timeFactor: number, onError: (error: unknown) => void): Clock {
  const tasks = new Set<Task>();
  const running = new Set<Promise<void>>();
  let ahead = offset;
  let stopped = false;
  const now = () => Date.now() + ahead;

  const arm = (task: Task) => {
    clearTimeout(task.timer);
    const wait = Math.max(0, Math.min(task.due - now(), LONGEST));
    task.timer = setTimeout(() => (task.due > now() ? arm(task) : void execute(task)), wait);
    task.timer.unref();
  };
  const execute = (task: Task): Promise<void> => {
    if (!tasks.delete(task)) return Promise.resolve();
    clearTimeout(task.timer);
    const run = attempt(task, onError).finally(() => running.delete(run));
    running.add(run);
    return run;
  };

  return {
    now,
    schedule(delayMs, run, scaled = true) {
      const task: Task = { due: now() + delayMs * (scaled ? timeFactor : 1), run, timer: undefined };
      if (stopped) return task.due;
      tasks.add(task);
      arm(task);
      return task.due;
    },
    async advance(milliseconds) {
      const target = now() + milliseconds;
      // Waits for the running tasks, because one may schedule the next task, as the delivery of a notification does.
      await Promise.all(running);
      for (let batch = dueBy(tasks, target); batch.length > 0; batch = dueBy(tasks, target)) {
        ahead += Math.max(0, batch.at(-1)!.due - now());
        await Promise.all(batch.map(execute));
      }
      ahead += Math.max(0, target - now());
      for (const task of tasks) arm(task);
    },
    stop() {
      stopped = true;
      for (const task of tasks) clearTimeout(task.timer);
      tasks.clear();
    },
  };
}

async function attempt(task: Task, onError: (error: unknown) => void): Promise<void> {
  try {
    await task.run();
  } catch (error) {
    onError(error);
  }
}

/** The earliest due task and the tasks due within one second after it; they run concurrently. */
function dueBy(tasks: ReadonlySet<Task>, target: number): Task[] {
  const due = [...tasks].filter((task) => task.due <= target).toSorted((a, b) => a.due - b.due);
  const first = due[0]?.due ?? 0;
  return due.filter((task) => task.due <= first + 1000);
}
