import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Killer } from './mutant.ts';

/** A killer's verdict on a checkout: only its own report counts as a fault. */
export interface Verdict {
  readonly found: 'nothing' | 'a fault' | 'no verdict';
  /** The fault as the killer reports it, or why there is no verdict. */
  readonly words: string;
  readonly seconds: number;
}

/** Longer than any killer's own limit: a slower one has no verdict. */
const MOST_SECONDS = 300;

const PROVE = 'test/prove/main.ts';

/** The Node.js arguments that run a killer in a checkout. */
export function commandOf(killer: Killer): string[] {
  if (killer.layer === 1) return [PROVE, '--explore', killer.scope, '--states', String(killer.states)];
  if (killer.layer === 2) return [PROVE, '--seeds', killer.seeds];
  const { file, title } = killer;
  return ['node_modules/ava/entrypoints/cli.js', ...(title === undefined ? [] : [`--match=${title}`]), file];
}

/** A killer as table text. */
export function describeKiller(killer: Killer): string {
  if (killer.layer === 1) return `\`--explore "${killer.scope}" --states ${killer.states}\``;
  if (killer.layer === 2) return `\`--seeds ${killer.seeds}\``;
  return `\`${killer.file}\`${killer.title === undefined ? '' : `, ${killer.title.replace('*', '…')}`}`;
}

/** Runs a killer in a checkout; `stop` ends it with all its child processes. */
export async function runKiller(
  killer: Killer,
  cwd: string,
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
): Promise<Verdict> {
  const begun = performance.now();
  // A process group of its own, so that its children end with it.
  const child = spawn(process.execPath, commandOf(killer), {
    cwd,
    env: { ...env, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  let isLate = false;
  const bound = setTimeout(() => {
    isLate = true;
    end();
  }, MOST_SECONDS * 1000);
  stop.addEventListener('abort', end);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  clearTimeout(bound);
  stop.removeEventListener('abort', end);
  const seconds = (performance.now() - begun) / 1000;
  if (isLate) return { found: 'no verdict', words: `it took more than ${MOST_SECONDS} s`, seconds };
  return { ...judge(killer, child.exitCode, `${output}\n${errors}`), seconds };
}

/** Reads a verdict from the output of a killer. A command that crashed found nothing. */
export function judge(killer: Killer, exitCode: number | null, output: string): Omit<Verdict, 'seconds'> {
  if (exitCode === 0) return { found: 'nothing', words: '' };
  const words = killer.layer === 3 ? failedTest(output) : /^ *✘ (.+)$/m.exec(output)?.[1];
  if (words !== undefined) return { found: 'a fault', words: words.trim() };
  const last = output.trim().split('\n').at(-1) ?? '';
  return { found: 'no verdict', words: `exit ${exitCode}: ${last.trim()}` };
}

const TESTS = [/^ *✘ \[fail\]: (.+)$/m, /^ *✘ (Timed out while running tests.*|\d+ tests? remaining in .+)$/m];

/** The first test that failed or that AVA reports as unfinished, and its first message. */
function failedTest(output: string): string | undefined {
  return TESTS.map((pattern) => pattern.exec(output)?.[1]).find((words) => words !== undefined);
}
