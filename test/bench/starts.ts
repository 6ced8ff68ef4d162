import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Line, median } from './figures.ts';
import { freePort, payctl, type Processes, untilHealthy } from './processes.ts';
import type { Stage } from './stage.ts';

/** From the start of the process to the first 200 of /health, and the memory of a service that does nothing. */
export async function measureStarts({ processes, service, bareEnvironment }: Stage, rounds: number): Promise<Line[]> {
  const ready: number[] = [];
  const memory: number[] = [];
  const bare: number[] = [];
  const bareMemory: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const last = round === rounds;
    const ours = await startOnce(processes, [payctl, 'server', 'start'], production(service.env), last);
    const theirs = await startOnce(processes, [join(import.meta.dirname, 'bare.ts')], bareEnvironment, last);
    // The first round fills the compile cache.
    if (round > 0) {
      ready.push(ours.ms);
      bare.push(theirs.ms);
    }
    if (last) {
      memory.push(ours.megabytes);
      bareMemory.push(theirs.megabytes);
    }
  }
  return [
    {
      what: 'ready on an existing schema',
      ours: `${Math.round(median(ready))} ms`,
      baseline: `${Math.round(median(bare))} ms (bare)`,
      result: `${Math.round(median(ready))} ms`,
      aim: '≤ 1500 ms',
      reached: median(ready) <= 1500,
    },
    {
      what: 'memory of an idle service',
      ours: `${Math.round(median(memory))} MB`,
      baseline: `${Math.round(median(bareMemory))} MB (bare)`,
      result: `${Math.round(median(memory))} MB`,
      aim: '≤ 150 MB',
      reached: median(memory) <= 150,
    },
  ];
}

/** As it runs in production: no Debug, and none of the benchmark's channel. */
function production(env: Record<string, string>): Record<string, string> {
  const { PAY_DEBUG: _debug, PAY_SIMULATOR_URL: _simulator, ...rest } = env;
  return { ...rest, NODE_ENV: 'production', PAY_SERVER_PUBLIC_URL: 'https://pay.example' };
}

/** Long enough for the jobs to be up and for the garbage of the start to be collected (ms). */
const SETTLED_MS = 5_000;

async function startOnce(
  processes: Processes,
  argv: readonly string[],
  env: Record<string, string>,
  weigh: boolean,
): Promise<{ ms: number; megabytes: number }> {
  const port = await freePort();
  const started = performance.now();
  const child = processes.begin(argv, { ...env, PAY_SERVER_LISTEN: `127.0.0.1:${port}` });
  const own = argv[0] === payctl;
  const url = own ? `http://127.0.0.1:${port}` : String((await once(child.stdout!, 'data'))[0]).trim();
  child.stdout?.resume();
  await untilHealthy(url, child);
  const ms = performance.now() - started;
  if (weigh) await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const megabytes = weigh && child.pid ? residentMegabytes(child.pid) : Number.NaN;
  await processes.end(child);
  return { ms, megabytes };
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** What a command costs over a Node that does nothing. */
export async function measurePayctl({ processes, service }: Stage, rounds: number): Promise<Line[]> {
  const env = { PAYCTL_SERVER: service.url, PAYCTL_TOKEN: service.adminToken };
  const commands = {
    nothing: ['-e', '0'],
    version: [payctl, '--version'],
    list: [payctl, 'app', 'list'],
  };
  const times = { nothing: [] as number[], version: [] as number[], list: [] as number[] };
  for (let round = -2; round < rounds; round++)
    for (const name of ['nothing', 'version', 'list'] as const) {
      const ms = await runOnce(processes, commands[name], env);
      if (round >= 0) times[name].push(ms);
    }
  const line = (what: string, figures: readonly number[], aim: number): Line => {
    const over = median(figures.map((ms, round) => ms - times.nothing[round]!));
    return {
      what,
      ours: `${median(figures).toFixed(0)} ms`,
      baseline: `${median(times.nothing).toFixed(0)} ms (node -e 0)`,
      result: `${over.toFixed(0)} ms over`,
      aim: `≤ ${aim} ms over`,
      reached: over <= aim,
    };
  };
  return [line('payctl --version', times.version, 30), line('payctl app list', times.list, 110)];
}

async function runOnce(processes: Processes, argv: readonly string[], env: Record<string, string>): Promise<number> {
  const started = performance.now();
  const child = processes.begin(argv, env);
  child.stdin?.end();
  child.stdout?.resume();
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}`);
  return performance.now() - started;
}
