import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PayWay } from '../../server/payments/channel.ts';
import { type BenchBill, DAY, WRITERS } from './bill-files.ts';
import type { Line } from './figures.ts';
import { root } from './processes.ts';
import type { Service, Stage } from './stage.ts';

/** The cost of one bill. */
interface BillFigures {
  readMs: number;
  compareMs: number;
  megabytes: number;
  state: string;
  lines: number;
  notOurs: number;
  differences: number;
}

const SMALL = 20_000;
const LARGE = 1_000_000;
/** One order in 100,000 differs between the ledger and the bill. */
const WRONG_EVERY = 100_000;
const MOST_SECONDS = 60;
const MOST_MEGABYTES = 200;

/** Measures reading and comparing the bill of a day with as many orders, beside a bare COPY of the same lines. */
export async function measureBills({ processes, onCopy }: Stage, large: boolean): Promise<Line[]> {
  const lines = large ? LARGE : SMALL;
  const folder = join(processes.folder, 'bills');
  mkdirSync(folder);
  // PostgreSQL runs as another user.
  for (const path of [processes.folder, folder]) chmodSync(path, 0o755);
  const found: Line[] = [];
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
    const bill = await WRITERS[payWay](folder, lines);
    chmodSync(bill.plain, 0o644);
    const service = await onCopy(`bills_${payWay}`);
    await seed(service, payWay, bill, lines);
    const copied = await copy(service, bill);
    const figures = await readAndCompare({ processes }, service, { payWay, bill });
    await processes.end(service.child);
    found.push(lineOf(payWay, lines, figures, copied));
  }
  return found;
}

function lineOf(payWay: PayWay, lines: number, figures: BillFigures, copiedMs: number): Line {
  const { readMs, compareMs, megabytes, state, differences } = figures;
  if (state !== 'done' || figures.lines !== lines || figures.notOurs !== 0 || differences !== wrongOf(lines))
    throw new Error(`the bill of ${payWay} came to ${JSON.stringify(figures)}`);
  const seconds = (readMs + compareMs) / 1000;
  return {
    what: `${payWay}: a bill of ${lines.toLocaleString('en')} lines`,
    ours: `${(readMs / 1000).toFixed(1)} s read, ${(compareMs / 1000).toFixed(1)} s compared, ${Math.round(megabytes)} MB`,
    baseline: `${(copiedMs / 1000).toFixed(1)} s (COPY)`,
    result: `${seconds.toFixed(1)} s, ${Math.round(megabytes)} MB`,
    aim: `≤ ${MOST_SECONDS} s, ≤ ${MOST_MEGABYTES} MB`,
    reached: lines === LARGE ? seconds <= MOST_SECONDS && megabytes <= MOST_MEGABYTES : undefined,
  };
}

/** Returns the line with the figures; the replica's log is in the same output. */
async function figuresIn(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) if (line.startsWith('{"readMs"')) return line;
  throw new Error('bill-replica printed no figures');
}

const wrongOf = (lines: number): number => Math.ceil(lines / WRONG_EVERY);

async function seed({ sql, clientId }: Service, payWay: PayWay, bill: BenchBill, lines: number): Promise<void> {
  const part = 100_000;
  for (let from = 0; from < lines; from += part)
    await sql(
      `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject,
         order_type, user_id, amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered,
         paid, paid_at, refunded, refunding, overrun, channel_trade_no, sequence, place_tries, absent_count, captures, checks,
         created_at, sent_at, expires_at)
       select 'P20260301000000' || lpad(n::text, 10, '0'), 'payment', $1, 'default', 'live', $2, $3, 1, 'qr', 'Two coffees',
         'goods', 'user-' || n % 997, amount, $4, '', false, '', 'paid', false, false,
         case when n % ${WRONG_EVERY} = 0 then amount + 1 else amount end, at, 0, 0, 0,
         '42000012342026030100' || lpad(n::text, 9, '0'), 2, 1, 0, 0, 0, at, at, at + interval '2 hours'
         from (select n, 1000 + n % 9000 as amount, timestamptz '2026-03-01 08:05:00Z' as at
                 from generate_series($5::int, $6::int) n) o`,
      [clientId, payWay, bill.account, bill.currency, from, Math.min(lines, from + part) - 1],
    );
  await sql('vacuum analyze orders');
}

/** Copies the same unparsed lines by the database alone. */
async function copy({ sql }: Service, { plain, encoding }: BenchBill): Promise<number> {
  await sql('create table copied (line text)');
  const started = performance.now();
  await sql(
    `copy copied from '${plain}' with (format csv, delimiter E'\\x01', quote E'\\x02', encoding '${encoding}')`,
  );
  return performance.now() - started;
}

async function readAndCompare(
  { processes }: Pick<Stage, 'processes'>,
  { env }: Service,
  { payWay, bill }: { payWay: PayWay; bill: BenchBill },
): Promise<BillFigures> {
  const work = { root, day: DAY, file: bill.file, payWay, account: bill.account };
  const { PAY_DEBUG: _debug, ...rest } = env;
  const child = processes.begin([join(import.meta.dirname, 'bill-replica.mjs')], {
    ...rest,
    BENCH_BILL: JSON.stringify(work),
  });
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`bill-replica ended with ${code}`)));
  ended.catch(() => {});
  const line = await Promise.race([figuresIn(createInterface(child.stdout!)), ended]);
  await processes.end(child);
  return JSON.parse(line) as BillFigures;
}
