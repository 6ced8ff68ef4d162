import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Line, median } from './figures.ts';
import type { Service, Stage } from './stage.ts';

const WAKES = 60;
const BACKLOG = 100_000;
const IDLE_SECONDS = 60;

/** Measures how soon a commit is worked, the cost of an idle replica, and the speed of draining a backlog. */
export async function measureJobs(stage: Stage): Promise<Line[]> {
  const program = join(import.meta.dirname, 'jobs-replica.ts');
  const own = await measureWakes(stage, program, 'wakes_own', 'same');
  const other = await measureWakes(stage, program, 'wakes_other', 'another');
  const idle = await stage.onCopy('idle');
  const load = await measureIdle(stage, idle, 'idle');
  await stage.processes.end(idle.child);
  const rate = await measureDrain(stage, program, 'backlog');
  return [
    line('a commit is worked, by the replica that made it', wakeText(own)),
    line('a commit is worked, by another replica', wakeText(other)),
    line('an idle replica, a minute', `${load.transactions} transactions, ${load.cpuMs} + ${load.backendMs} ms CPU`),
    line(`a backlog of ${BACKLOG.toLocaleString('en')} due rows`, `${Math.round(rate)} rows/s`),
  ];
}

function line(what: string, result: string): Line {
  return { what, ours: result, baseline: '', result, aim: '', reached: undefined };
}

function wakeText(ms: readonly number[]): string {
  const worst = ms.toSorted((a, b) => a - b)[Math.ceil(ms.length * 0.99) - 1]!;
  return `median ${median(ms).toFixed(1)} p99 ${worst.toFixed(1)} ms`;
}

/** Milliseconds from the commit to the start of the work; with `another`, a replica that works no jobs commits. */
export async function measureWakes(
  stage: Stage,
  program: string,
  database: string,
  who: 'same' | 'another',
): Promise<number[]> {
  const { url, sql, end } = await makeDatabase(stage, database);
  await insertOrders(sql, 'W', WAKES);
  const first = await startReplica(stage, program, url, who === 'same');
  const worker = who === 'same' ? first : await startReplica(stage, program, url, true);
  const times: number[] = [];
  for (let n = 1; n <= WAKES; n++) {
    const orderNo = `W${n}`;
    const [began, committed] = [worker.said('began', orderNo), first.said('committed', orderNo)];
    first.child.stdin!.write(`${orderNo}\n`);
    // Another replica may start before the committing one receives its confirmation.
    times.push(Math.max(0, (await began) - (await committed)));
    // Spreads the commits over the poll interval.
    await sleep(37 * (n % 23));
  }
  await Promise.all([first, worker].map(({ child }) => stage.processes.end(child)));
  await end();
  return times;
}

/** Rows per second from the first worked row to the last. */
export async function measureDrain(stage: Stage, program: string, database: string): Promise<number> {
  const { url, sql, end } = await makeDatabase(stage, database);
  await insertOrders(sql, 'B', BACKLOG, `now() - interval '1 hour'`);
  await sql('analyze orders');
  const left = async () =>
    Number((await sql('select count(*) as n from orders where next_check_at is not null'))[0]!['n']);
  const { child } = await startReplica(stage, program, url, true);
  while ((await left()) === BACKLOG) await sleep(20);
  const [started, first] = [performance.now(), await left()];
  while ((await left()) > 0) await sleep(100);
  const seconds = (performance.now() - started) / 1000;
  await stage.processes.end(child);
  await end();
  return first / seconds;
}

/** The cost of an idle service: transactions, and the CPU time of its process and connections. */
export async function measureIdle(
  { service: { sql } }: Stage,
  { child }: Pick<Service, 'child'>,
  database: string,
): Promise<{ transactions: number; cpuMs: number; backendMs: number }> {
  const backends = async () =>
    (await sql('select pid from pg_stat_activity where datname = $1', [database])).map(({ pid }) => Number(pid));
  const read = async () => {
    const [row] = await sql('select xact_commit + xact_rollback as n from pg_stat_database where datname = $1', [
      database,
    ]);
    const times = new Map((await backends()).map((pid) => [pid, cpuMsOf(pid)]));
    return { transactions: Number(row!['n']), cpu: cpuMsOf(child.pid!), times };
  };
  await sleep(10_000);
  const before = await read();
  await sleep(IDLE_SECONDS * 1000);
  const after = await read();
  const spent = [...after.times].map(([pid, ms]) => ms - (before.times.get(pid) ?? 0));
  return {
    transactions: after.transactions - before.transactions,
    cpuMs: Math.round(after.cpu - before.cpu),
    backendMs: Math.round(spent.reduce((sum, ms) => sum + ms, 0)),
  };
}

/** User and system time of a process in milliseconds; the kernel counts hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

interface Replica {
  child: ChildProcess;
  said(what: string, orderNo: string): Promise<number>;
}

async function startReplica({ processes }: Stage, program: string, url: string, works: boolean): Promise<Replica> {
  const child = processes.begin([program], { BENCH_JOBS: JSON.stringify({ url, works }) });
  const lines = createInterface(child.stdout!);
  await once(lines, 'line');
  return { child, said: (what, orderNo) => hear(lines, `${what} ${orderNo} `) };
}

function hear(lines: Interface, words: string): Promise<number> {
  return new Promise((resolve) => {
    lines.on('line', function listen(text) {
      if (!text.startsWith(words)) return;
      lines.off('line', listen);
      resolve(Number(text.slice(words.length)));
    });
  });
}

interface Database {
  url: string;
  sql: Service['sql'];
  end(): Promise<void>;
}

async function makeDatabase({ service }: Stage, name: string): Promise<Database> {
  await service.sql(`create database ${name} template empty`);
  const url = new URL(service.env['PAY_DATABASE_URL']!);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 1 });
  return {
    url: url.href,
    sql: async (text, values) => (await pool.query(text, [...(values ?? [])])).rows,
    end: () => pool.end(),
  };
}

async function insertOrders(sql: Service['sql'], prefix: string, n: number, dueAt = 'null'): Promise<void> {
  await sql(
    `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject,
       amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded,
       refunding, overrun, sequence, place_tries, absent_count, captures, checks, next_check_at, created_at, sent_at,
       expires_at)
     select '${prefix}' || n, 'payment', 'bench', 'default', 'simulator', (array['alipay', 'wechat', 'paypal'])[n % 3 + 1],
            '1', 1, 'qr', 'Two coffees', 1250, 'CNY', '', false, '', 'pending', false, false, 0, 0, 0, 0, 1, 1, 0, 0, 0,
            ${dueAt}, now(), now(), now() + interval '2 hours'
       from generate_series(1, ${n}) n`,
  );
}
