import { execFileSync } from 'node:child_process';

/** One process in the system's list. */
interface Listed {
  pid: number;
  parent: number;
  command: string;
}

function processes(): Listed[] {
  const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return [...list.matchAll(/^ *(\d+) +(\d+) (.*)$/gm)].map(([, pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command: command.trim(),
  }));
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has ended since the list was read.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Kills and reports the children of a process when `heard` was not called for this time. AVA's own limit is checked only
 * once: while a test has extended its time (`t.timeout`) AVA skips the check, and then waits for ever.
 */
export function breakSilence(
  parent: number,
  milliseconds: number,
  say: (line: string) => void = console.error,
): { heard(): void; stop(): void } {
  const timer = setTimeout(() => {
    const children = processes().filter((each) => each.parent === parent);
    for (const { pid, command } of children) {
      say(`# nothing was heard for ${Math.ceil(milliseconds / 60_000)} min, ended: ${command}`);
      end(pid);
    }
    timer.refresh();
  }, milliseconds);
  return { heard: () => void timer.refresh(), stop: () => clearTimeout(timer) };
}
