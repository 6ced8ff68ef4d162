/** The simulator's time: real time plus what was advanced. Signature timestamps never come from here. */
export interface Clock {
  /** Milliseconds since 1970 on the simulated clock. */
  now(): number;
  /** Runs `task` once `delayMs` of simulated time have passed; `scaled` delays are multiplied by the time factor. Returns when. */
  schedule(delayMs: number, task: () => unknown, scaled?: boolean): number;
  /** Moves the clock forward and resolves when everything that became due has run, in its order. */
  advance(milliseconds: number): Promise<void>;
  /** Forgets every task. */
  stop(): void;
}

interface Task {
  due: number;
  run: () => unknown;
  timer: NodeJS.Timeout | undefined;
}

/** Longest delay that a timer of Node can hold. */
const LONGEST = 2_147_483_647;

/** A clock that starts `offset` milliseconds ahead; `onError` hears of tasks that throw. */
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
      // What has begun may schedule more: a delivery that is under way decides about the next one.
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

/** The earliest tasks due by `target`: those within a second of the first one, so that many notices go out together. */
function dueBy(tasks: ReadonlySet<Task>, target: number): Task[] {
  const due = [...tasks].filter((task) => task.due <= target).toSorted((a, b) => a.due - b.due);
  const first = due[0]?.due ?? 0;
  return due.filter((task) => task.due <= first + 1000);
}
