import { once } from 'node:events';
import { type Line, median } from './figures.ts';
import { freePort, payctl, type Processes, residentMegabytes, untilHealthy } from './processes.ts';
import type { Service, Stage } from './stage.ts';

/** Measures the time from the process start to the first 200 of /health, and the memory of an idle service. */
export async function measureStarts(stage: Stage, rounds: number): Promise<Line[]> {
  const { service, before } = stage;
  const serve = ({ payctl: command, env }: Service, own: Record<string, string>): Started => ({
    argv: [command, 'server', 'start'],
    env: { ...production(env), ...own },
    tellsPort: false,
  });
  const bare = { argv: stage.bare.argv, env: stage.bare.env, tellsPort: true };
  // The previous release may not know the setting; it is killed if it stops slowly.
  const who = [serve(service, { PAY_SERVER_DRAIN_SECONDS: '0' }), bare, ...(before ? [serve(before, {})] : [])];
  const figures = who.map(() => ({ ready: [] as number[], memory: Number.NaN }));
  for (let round = 0; round <= rounds; round++)
    for (const [at, program] of who.entries()) {
      const last = round === rounds;
      const { ms, megabytes } = await startOnce(stage.processes, program, last);
      // The first round fills the compile cache.
      if (round > 0) figures[at]!.ready.push(ms);
      if (last) figures[at]!.memory = megabytes;
    }
  const lineOf = (what: string, unit: string, most: number, figure: (at: number) => number): Line => ({
    what,
    ours: `${Math.round(figure(0))} ${unit}`,
    baseline: `${Math.round(figure(1))} ${unit} (bare)${before ? `, ${Math.round(figure(2))} (before)` : ''}`,
    result: `${Math.round(figure(0))} ${unit}`,
    aim: `≤ ${most} ${unit}`,
    reached: figure(0) <= most,
  });
  return [
    lineOf('ready on an existing schema', 'ms', 1000, (at) => median(figures[at]!.ready)),
    lineOf('memory of an idle service', 'MB', 115, (at) => figures[at]!.memory),
  ];
}

/** A production environment: no Debug, and none of the benchmark's channel. */
function production(env: Record<string, string>): Record<string, string> {
  const { PAY_DEBUG: _debug, PAY_SIMULATOR_URL: _simulator, ...rest } = env;
  return { ...rest, PAY_SERVER_PUBLIC_URL: 'https://pay.example', NODE_ENV: 'production' };
}

/** Long enough for the jobs to start and for the garbage of the start to be collected (ms). */
const SETTLED_MS = 5_000;

interface Started {
  argv: readonly string[];
  env: Record<string, string>;
  /** Whether it chooses its port and prints its address. */
  tellsPort: boolean;
}

async function startOnce(
  processes: Processes,
  { argv, env, tellsPort }: Started,
  weigh: boolean,
): Promise<{ ms: number; megabytes: number }> {
  const port = await freePort();
  const started = performance.now();
  const child = processes.begin(argv, { ...env, PAY_SERVER_LISTEN: `127.0.0.1:${port}` });
  const url = tellsPort ? String((await once(child.stdout!, 'data'))[0]).trim() : `http://127.0.0.1:${port}`;
  child.stdout?.resume();
  await untilHealthy(url, child);
  const ms = performance.now() - started;
  if (weigh) await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const megabytes = weigh && child.pid ? residentMegabytes(child.pid) : Number.NaN;
  await processes.end(child);
  return { ms, megabytes };
}

/** Measures the time of a command over that of an empty Node program. */
export async function measurePayctl({ processes, service, before }: Stage, rounds: number): Promise<Line[]> {
  const env = { PAYCTL_SERVER: service.url, PAYCTL_TOKEN: service.adminToken };
  const words = {
    'payctl --version': ['--version'],
    'payctl --help': ['--help'],
    'payctl order list --help': ['order', 'list', '--help'],
    'payctl app list': ['app', 'list'],
  } as const;
  const most = {
    'payctl --version': 8,
    'payctl --help': 12,
    'payctl order list --help': 12,
    'payctl app list': 70,
  } as const;
  const lines: Line[] = [];
  for (const what of Object.keys(words) as (keyof typeof words)[]) {
    const commands = [['-e', '0'], [payctl, ...words[what]], ...(before ? [[before.payctl, ...words[what]]] : [])];
    const times = commands.map(() => [] as number[]);
    for (let round = -2; round < rounds; round++)
      for (const [at, argv] of commands.entries()) {
        const ms = await runOnce(processes, argv, env);
        if (round >= 0) times[at]!.push(ms);
      }
    const over = times.map((figures) => median(figures.map((ms, round) => ms - times[0]![round]!)));
    lines.push({
      what,
      ours: `${median(times[1]!).toFixed(0)} ms`,
      baseline: `${median(times[0]!).toFixed(0)} ms (node -e 0)${before ? `, ${median(times[2]!).toFixed(0)} (before)` : ''}`,
      result: `${over[1]!.toFixed(0)} ms over`,
      aim: `≤ ${most[what]} ms over`,
      reached: over[1]! <= most[what],
    });
  }
  return lines;
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
