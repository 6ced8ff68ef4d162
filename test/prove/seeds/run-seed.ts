import { sumOrders } from '../../../server/simulator/ledger.ts';
import type { Line } from '../check-history.ts';
import { reseed } from '../explore/seeded-random.ts';
import type { AnyRow, Snapshot } from '../memory/tables.ts';
import { People } from './acts.ts';
import { Clients } from './clients.ts';
import { openMemory, type WorldDatabase } from './databases.ts';
import { createFates } from './fates.ts';
import { Jobs } from './jobs.ts';
import { Journal } from './journal.ts';
import { judgeCommit, judgeEnd, judgeOver } from './judge.ts';
import { type Plan, REPLICAS } from './plan.ts';
import { Replica } from './replica.ts';
import { type ChannelKeys, openChannels } from './simulated-channels.ts';
import { takeOverTime } from './virtual-time.ts';
import { deliverTo } from './wire.ts';
import { BEGINNING, World } from './world.ts';

/** The settings of a world. */
export interface SeedOptions {
  readonly keys: ChannelKeys;
  /** In memory by default. */
  readonly database?: WorldDatabase | undefined;
  /** The names of fates that do not strike. */
  readonly spared?: ReadonlySet<string>;
  readonly isTold?: boolean;
  /** A fault planted in the replicas, for tests. */
  readonly spoil?: (replica: Replica, world: World) => void;
}

/** The results of a world. */
export interface SeedOutcome {
  readonly seed: number;
  readonly hash: string;
  readonly wrong: readonly string[];
  readonly story: readonly string[];
  readonly struck: ReadonlyMap<string, string>;
  readonly counts: World['counts'] & { orders: number; refunds: number; listed: number };
  /** How often each transition of `server/README.md` happened, and which exceptions opened. */
  readonly transitions: Readonly<Record<string, number>>;
  readonly exceptions: Readonly<Record<string, number>>;
  /** How many orders were paid, by channel. */
  readonly paid: Readonly<Record<string, number>>;
}

/** After this time no new action and no fault begins. */
const STORM_MS = 30 * 60_000;
/** Longer than any order or refund takes to end. */
const MOST_DAYS = 60;

/** Runs a plan to its end: the storm, then calm until nothing is due, then an operator who resolves the exceptions. */
export async function runSeed(plan: Plan, options: SeedOptions): Promise<SeedOutcome> {
  reseed(`world ${plan.seed}`);
  const fates = createFates(plan.seed, options.spared);
  const memory = options.database ? undefined : openMemory((changes) => judgeCommit(world, memory!.indexed!, changes));
  const world: World = new World({ fates, database: options.database ?? memory!, isTold: options.isTold ?? false });
  takeOverTime(world.clockwork, () => world.tasks.getStore());
  const replicas = Array.from({ length: REPLICAS }, (_, at) => new Replica(world, `replica ${at + 1}`));
  world.channels = await openChannels(options.keys, deliverTo(world, replicas));
  const journal = new Journal(world);
  const clients = new Clients(world, journal, replicas);
  const people = new People(world, clients, replicas);
  const start = (replica: Replica) => {
    replica.start();
    options.spoil?.(replica, world);
  };
  for (const replica of replicas) start(replica);
  schedule(world, plan, people, replicas, start);

  const jobs = new Jobs(world, replicas);
  await jobs.runUntil(BEGINNING + STORM_MS);
  fates.calm();
  for (const replica of replicas) {
    replica.skewMs = 0;
    if (replica.life.dead) start(replica);
  }
  world.note('from now on nothing goes wrong');
  await jobs.runUntil(world.now + MOST_DAYS * 86_400_000);
  await lookAtEverything(world, journal, clients, jobs);
  const end = await world.database.snapshot();
  weighRows(world, end);
  const wrong = [...world.wrong, ...judgeEnd(world, end, journal.lines)];
  const listed = (await people.endEverythingListed()).length;
  await jobs.runUntil(world.now + MOST_DAYS * 86_400_000);
  await people.endEverythingListed();
  await jobs.runUntil(world.now + MOST_DAYS * 86_400_000);
  const over = await world.database.snapshot();
  weighRows(world, over);
  wrong.push(...judgeOver(over), ...world.wrong.slice(wrong.length));
  world.channels.core.close();
  return {
    seed: plan.seed,
    hash: world.hash,
    wrong: [...new Set(wrong)],
    story: world.story,
    struck: fates.struck,
    counts: {
      ...world.counts,
      orders: over.orders.length,
      refunds: over.refunds.length,
      listed,
    },
    transitions: countBy(over.transitions, 'rule'),
    exceptions: countBy(over.exceptions, 'kind'),
    paid: countBy(
      over.orders.filter(({ paid }) => paid !== 0n),
      'payWay',
    ),
  };
}

function countBy(rows: readonly AnyRow[], column: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[String(row[column])] = (counts[String(row[column])] ?? 0) + 1;
  return counts;
}

/** Schedules the plan's acts and weather. */
function schedule(
  { clockwork }: World,
  { orders, weather }: Plan,
  people: People,
  replicas: readonly Replica[],
  start: (replica: Replica) => void,
): void {
  for (const order of orders)
    for (const act of order.acts)
      clockwork.at(BEGINNING + act.at, `${act.id}: ${act.step}`, () => people.act(order, act));
  for (const one of weather) {
    const replica = replicas[one.replica]!;
    if (one.kind === 'clock') {
      const step = () => void (replica.skewMs += one.ms);
      clockwork.at(BEGINNING + one.at, `the clock of ${replica.name} goes ${one.ms} ms on`, step);
      continue;
    }
    clockwork.at(BEGINNING + one.at, `${replica.name} dies`, () => replica.die());
    clockwork.at(BEGINNING + one.at + one.ms, `${replica.name} comes back`, () => {
      if (replica.life.dead) start(replica);
    });
  }
}

/** Queries every order and records the channels' ledgers. */
async function lookAtEverything(world: World, journal: Journal, clients: Clients, jobs: Jobs): Promise<void> {
  const { orders } = await world.database.snapshot();
  journal.note('info', 'nemesis', 'drained', {});
  for (const orderNo of orders.map((row) => String(row['orderNo'])).toSorted()) {
    void clients.look(orderNo);
    await jobs.runUntil(world.now + 2_000);
  }
  const { entries, trades } = world.core.ledger;
  const firstPaid = new Map<string, number>();
  for (const { orderNo, type, at } of entries)
    if ((type === 'paid' || type === 'captured') && !firstPaid.has(orderNo)) firstPaid.set(orderNo, Date.parse(at));
  const known = new Map<string, Line['value']>();
  for (const { orderNo, payWay, paid, payments, refunded, refunds } of sumOrders(entries, trades)) {
    const at = firstPaid.get(orderNo);
    const paidAt = at === undefined ? undefined : (at - BEGINNING) * 1e6;
    known.set(orderNo, { orderNo, payWay, paid, payments, paidAt, refunded, returns: refunds });
  }
  for (const value of known.values()) journal.note('info', 'channel', 'ledger', value);
  for (const { type, orderNo, minor, at } of entries) world.weigh(JSON.stringify([type, orderNo, minor, at]));
}

/** Columns that only number rows in the database's order. */
const COUNTED: ReadonlySet<string> = new Set(['sequence of events', 'id of transitions']);

/** Caches the hash text of a row; a written in-memory row is a new object. */
const weighed = new WeakMap<AnyRow, string>();

/** Adds every row to the hash, in a form common to both databases. */
function weighRows(world: World, snapshot: Snapshot): void {
  for (const [table, rows] of Object.entries(snapshot) as [string, readonly AnyRow[]][]) {
    const texts = rows.map((row) => {
      const text = weighed.get(row) ?? textOf(table, row);
      weighed.set(row, text);
      return text;
    });
    world.weigh(`${table} ${texts.toSorted().join('\n')}`);
  }
}

/** A row's values by column name. */
function textOf(table: string, row: AnyRow): string {
  return JSON.stringify(columnsOf(table, row).map((name) => plain(row[name])));
}

/** Caches the sorted columns by table and column order. */
const sortedColumns = new Map<string, readonly string[]>();

function columnsOf(table: string, row: AnyRow): readonly string[] {
  const names = Object.keys(row);
  const key = `${table} ${names.join(' ')}`;
  const known = sortedColumns.get(key) ?? names.filter((name) => !COUNTED.has(`${name} of ${table}`)).toSorted();
  sortedColumns.set(key, known);
  return known;
}

/** Normalises a value: sorted members, big numbers as text, dates as numbers. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plain);
  const members = Object.entries(value).toSorted(byName);
  return Object.fromEntries(members.map(([name, one]) => [name, plain(one)]));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
