import test, { type ExecutionContext } from 'ava';
import { isDeepStrictEqual } from 'node:util';
import { count, inParallel, isLong } from '../support/counts.ts';
import { type Operation, OPERATIONS, type Subject } from './database-fault-cases.ts';
import { IMPATIENT, sickStage, factsAbout, type SickStage, STOCK, untilNothingIsOpen } from './sick-stage.ts';
import { STATEMENT_FAULTS, type StatementFault } from '../support/statement-cable.ts';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { until, type Answer } from '../support/service.ts';

/** One statement of one action, and the fault that it meets. */
interface Case {
  operation: Operation;
  /** The channel, in turn. */
  turn: number;
  n: number;
  fault: StatementFault;
}

/** The counts for the log. */
interface Tally {
  sums: { statements: number; strikes: number; repeats: number };
  statuses: Map<string, number>;
  /** The violated expectations. */
  violations: string[];
  subjects: { which: string; operation: Operation; subject: Subject }[];
}

function newTally(): Tally {
  return { sums: { statements: 0, strikes: 0, repeats: 0 }, statuses: new Map(), violations: [], subjects: [] };
}

let serial = 0;

/** More than a merchant needs while swallowed connections are detected one by one. */
const MOST_TRIES = 60;

/**
 * The statements that an action sends without a fault. A replica loads more the first time, and the first time with each channel:
 * only statements seen twice in a row count, or those of the previous action.
 */
function learner(stage: SickStage): (operation: Operation, turn: number) => Promise<readonly string[]> {
  const known = new Set<string>();
  return async (operation, turn) => {
    for (let before = ''; ;) {
      const subject = await operation.prepare(stage, `calm-${(serial += 1)}`, turn);
      stage.cable.count();
      const answer = await operation.act(stage, subject);
      // Some texts contain values.
      const seen = stage.cable.seen.map((text) => text.slice(0, 30));
      await operation.follow?.(stage, subject);
      const key = operation.isDone(answer) ? JSON.stringify([operation.name, seen]) : '';
      if (key !== '' && (key === before || known.has(key))) {
        known.add(key);
        return seen;
      }
      before = key;
    }
  };
}

/**
 * One action meets one fault: its answer must be true, and the repeats must succeed. `watch` returns the current statements of the
 * action: a warmed-up replica sends fewer than when it was watched before, and then the last statement meets the fault.
 */
async function meetFault(
  stage: SickStage,
  one: Case,
  tally: Tally,
  watch: () => Promise<readonly string[]>,
): Promise<void> {
  tally.sums.statements += 1;
  let { n } = one;
  // On a slow machine an action may meet another fault first.
  for (let tries = 1; tries <= 10; tries += 1) {
    if (await meetOnce(stage, { ...one, n }, tally)) return void (tally.sums.strikes += 1);
    if (tries % 3 === 0) n = Math.min(n, (await watch()).length);
  }
  tally.violations.push(`${one.operation.name}, ${one.fault} at ${one.n}: it never struck`);
}

/** Returns whether the intended fault struck. */
async function meetOnce(stage: SickStage, one: Case, tally: Tally): Promise<boolean> {
  const { operation, turn, n, fault } = one;
  const { cable } = stage;
  const subject = await operation.prepare(stage, `case-${(serial += 1)}`, turn);
  const told = (): string =>
    `${operation.name} (${subject.payWay}), ${fault} at ${n}: ${cable.struck?.replaceAll(/\s+/g, ' ').slice(0, 60)}`;
  cable.strikeAt(n, fault);
  const first = await judged(stage, operation, subject, told, tally, async () => {
    cable.mend();
    await untilNothingIsOpen(stage);
    cable.bury();
  });
  const struck = cable.struck !== undefined;
  const outcome = `${first.status} ${first.body?.code ?? ''}`.trim();
  tally.statuses.set(outcome, (tally.statuses.get(outcome) ?? 0) + 1);
  const ahead = await repeat(stage, operation, subject, first, told, tally);
  await operation.follow?.(stage, subject);
  // Alipay refuses requests dated far ahead of its own clock.
  stage.calm.clock.advance(-ahead);
  tally.subjects.push({ which: told(), operation, subject });
  return struck;
}

/** Runs an action and compares its answer with the stored rows. */
async function judged(
  stage: SickStage,
  operation: Operation,
  subject: Subject,
  told: () => string,
  { violations }: Tally,
  afterwards = async () => {},
): Promise<Answer> {
  const before = await factsAbout(stage, subject.tag, subject.orderNo);
  const madeBefore = operation.makesNumber ? await operation.made(stage, subject) : [];
  const answer = await operation.act(stage, subject);
  await afterwards();
  const { status, body } = answer;
  const violated = (why: string) => violations.push(`${told()}: ${status} ${show(body)}, ${why}`);
  if (/nothing was changed/i.test(JSON.stringify(body))) {
    const after = await factsAbout(stage, subject.tag, subject.orderNo);
    if (after !== before) violated(`but ${before} became ${after}`);
  }
  if (operation.isDone(answer)) {
    subject.wasDone = true;
    const untruth = await operation.untruth(stage, subject, answer);
    if (untruth !== undefined) violated(`but ${show(untruth)}`);
  } else if (status <= 500 && !(status === 409 && body.retryable === true)) {
    violated('which is about something else');
  } else if (status > 500 && operation.makesNumber) {
    for (const number of await operation.made(stage, subject))
      if (!madeBefore.includes(number) && ![body.orderNo, body.refundNo].includes(number))
        violated(`which does not lead to ${number}`);
  }
  return answer;
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one));
}

/** The merchant repeats until it succeeds, as documented; returns the seconds by which the clock was advanced. */
async function repeat(
  stage: SickStage,
  operation: Operation,
  subject: Subject,
  first: Answer,
  told: () => string,
  tally: Tally,
): Promise<number> {
  let heard = first;
  let ahead = 0;
  if (operation.isDone(heard) && !operation.repeatable) return ahead;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    if (!operation.repeatable) {
      const found = await lookUp(stage, heard);
      if (found === 200) return ahead;
      if (found >= 500) continue;
    }
    // The lease of an aborted attempt expires by the clock.
    if (heard.status === 409 || tries % 10 === 0) {
      ahead += 31;
      stage.calm.clock.advance(31);
    }
    heard = await judged(stage, operation, subject, () => `${told()}, repeated`, tally);
    tally.sums.repeats += 1;
    if (operation.isDone(heard)) return ahead;
  }
  tally.violations.push(`${told()}: never done, last ${heard.status} ${show(heard.body)}`);
  return ahead;
}

/** Returns whether the object named in an answer exists. */
async function lookUp({ sick, shop }: SickStage, { body }: Answer): Promise<number> {
  const path = body.refundNo ? `refunds/${body.refundNo}` : body.orderNo && `query/${body.orderNo}`;
  return path ? (await shop.callAt(sick.url, 'GET', `/api/v2/payment/${path}`)).status : 404;
}

/** All is at rest: nothing lost, nothing doubled, nothing pending, and every connection of the pool is free. */
async function assertAllEnded(t: ExecutionContext, stage: SickStage, tally: Tally): Promise<void> {
  const { calm, sick, shop } = stage;
  await until('the pool is whole', async () => {
    const ask = () => shop.callAt(sick.url, 'GET', '/api/v2/payment/orders?limit=1');
    return (await Promise.all(Array.from({ length: 30 }, ask))).every(({ status }) => status === 200);
  });
  await runUntilQuiet(calm, 6 * 3600, 1800);
  for (const { which, operation, subject } of tally.subjects) {
    const { is, should } = await operation.outcome(stage, subject);
    if (!isDeepStrictEqual(is, should)) tally.violations.push(`${which}: in the end ${show(is)}, not ${show(should)}`);
  }
  t.deepEqual(tally.violations, []);
  const [{ left, sold }] = (await calm.app.store.read(
    (tx) =>
      tx.sql`select (select stock from products where code = 'tea')::int as left,
      (select count(*) from orders where product_code = 'tea' and state = 'paid')::int as sold`,
  )) as [{ left: number; sold: number }];
  t.is(left + sold, STOCK, 'no unit is lost or sold twice');
  t.deepEqual(await unexplained(calm), []);
  await assertLedgersMatch(t, calm);
  await untilNothingIsOpen(stage);
}

/** Whether the service has to wait for its own time-outs. */
const isSlow = (fault: StatementFault) => ['late-statement', 'late-answer', 'black-hole'].includes(fault);

const SHARING: readonly StatementFault[] = ['cut-before', 'reset'];

/**
 * For the database a statement that was cut before it arrived and one that was reset are the same: in a short run these two faults
 * share the actions. Each action meets every other fault.
 */
function meets(fault: StatementFault, turn: number): boolean {
  const place = SHARING.indexOf(fault);
  return isLong || place < 0 || turn % SHARING.length === place;
}

/**
 * A short run takes the COMMITs and one or two others. Faults without effect take every second of these, and the rest with the next
 * actions of the kind; waiting faults take a COMMIT or another one in turn. A long run takes all, or a share.
 */
function chosen(statements: readonly string[], salt: number, turn: number, fault: StatementFault): number[] {
  const all = statements.map((_, at) => at + 1);
  const commits = all.filter((n) => statements[n - 1] === 'commit');
  const others = all.filter((n) => statements[n - 1] !== 'commit');
  if (!isLong && isSlow(fault))
    return salt % 2 === 0 ? [commits[(salt / 2) % commits.length]!] : [others[(salt * 7) % others.length]!];
  if (!isLong) {
    const few = [...commits, ...others.filter((n) => (n + salt) % 24 === 0)];
    return few.filter((_, at) => !SHARING.includes(fault) || few.length < 2 || (at + (turn >> 1)) % 2 === 0);
  }
  const most = count(all.length, 1);
  return all.filter((n) => Math.floor((n * most) / all.length) > Math.floor(((n - 1) * most) / all.length));
}

/**
 * In a short run faults with the same bounds share one stage, whose setup costs more than the faults. The black hole is last because
 * its connections stay in the pool.
 */
const GROUPS: readonly (readonly StatementFault[])[] = isLong
  ? STATEMENT_FAULTS.map((fault) => [fault])
  : [STATEMENT_FAULTS.filter((fault) => !isSlow(fault)), STATEMENT_FAULTS.filter(isSlow)];

for (const faults of GROUPS)
  test(`${faults.join(', ')} at every statement of everything that moves money: nothing is doubled or lost, and every answer is true`, async (t) => {
    if (isLong) t.timeout(3_600_000);
    const tally = newTally();
    const start = performance.now();
    // One lane for each channel; in a short run they take turns.
    const queues = isLong ? 3 : 1;
    await inParallel(queues, queues, async (queueKey) => {
      const stage = await sickStage(t, isSlow(faults[0]!) ? { databaseTimeouts: IMPATIENT } : {});
      const own: Tally = { ...tally, subjects: [] };
      const statementsOf = learner(stage);
      const learned = new Map<Operation, readonly string[]>();
      for (const fault of faults)
        for (const [turn, operation] of OPERATIONS.entries()) {
          if (!meets(fault, turn)) continue;
          const salt = queueKey + STATEMENT_FAULTS.indexOf(fault) + turn;
          // In a short run an action has one channel per group and is watched once there, since watching costs as much as a fault.
          const channel = isLong ? salt : turn + GROUPS.indexOf(faults);
          const watch = () => statementsOf(operation, channel);
          const statements = (isLong ? undefined : learned.get(operation)) ?? (await watch());
          learned.set(operation, statements);
          for (const n of chosen(statements, salt, turn, fault))
            await meetFault(stage, { operation, turn: channel, n, fault }, own, watch);
        }
      await assertAllEnded(t, stage, own);
    });
    const { sums, statuses, violations } = tally;
    const heard = [...statuses].map(([status, times]) => `${times} × ${status}`).join(', ');
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    t.log(
      `${OPERATIONS.length} operations, ${sums.statements} statements met, ${sums.strikes} strikes, ${sums.repeats} repeats, ` +
        `${violations.length} violations, ${seconds} s; first answers: ${heard}`,
    );
    t.is(sums.strikes, sums.statements, 'every fault struck');
  });
