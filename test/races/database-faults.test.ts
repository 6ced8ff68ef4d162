import test, { type ExecutionContext } from 'ava';
import { isDeepStrictEqual } from 'node:util';
import { count, inParallel, isLong } from '../support/counts.ts';
import { type Deed, DEEDS, type Subject } from './sick-deeds.ts';
import { IMPATIENT, sickStage, factsAbout, type SickStage, STOCK, untilNothingIsOpen } from './sick-stage.ts';
import { STATEMENT_FAULTS, type StatementFault } from '../support/statement-cable.ts';
import { assertBooksBalance, runUntilQuiet, unexplained } from '../support/books.ts';
import { until, type Answer } from '../support/service.ts';

/** One statement of one deed, and what it meets. */
interface Case {
  deed: Deed;
  /** Which channel, in turns. */
  turn: number;
  n: number;
  fault: StatementFault;
}

/** What was done, for the log. */
interface Tally {
  sums: { statements: number; strikes: number; repeats: number };
  statuses: Map<string, number>;
  /** What was not so. */
  violations: string[];
  subjects: { which: string; deed: Deed; subject: Subject }[];
}

function newTally(): Tally {
  return { sums: { statements: 0, strikes: 0, repeats: 0 }, statuses: new Map(), violations: [], subjects: [] };
}

let serial = 0;

/** More than a merchant needs while connections that a black hole has swallowed are found out one by one. */
const MOST_TRIES = 60;

/**
 * What a deed sends to the database when nothing is wrong. The first time, and the first time with each channel, a replica learns more
 * than later: what counts was seen twice running, or is what counted for the deed before.
 */
function learner(stage: SickStage): (deed: Deed, turn: number) => Promise<readonly string[]> {
  const known = new Set<string>();
  return async (deed, turn) => {
    for (let before = ''; ;) {
      const subject = await deed.prepare(stage, `calm-${(serial += 1)}`, turn);
      stage.cable.count();
      const answer = await deed.act(stage, subject);
      // Some have values in their text.
      const seen = stage.cable.seen.map((text) => text.slice(0, 30));
      await deed.follow?.(stage, subject);
      const key = deed.isDone(answer) ? JSON.stringify([deed.name, seen]) : '';
      if (key !== '' && (key === before || known.has(key))) {
        known.add(key);
        return seen;
      }
      before = key;
    }
  };
}

/**
 * One deed meets one fault: whatever is answered must be so, and the repeats must end well. `watch` gives the statements of the deed as
 * they are now: a replica that has learned more sends fewer than when it was watched before, and then its last one meets the fault.
 */
async function meetFault(
  stage: SickStage,
  one: Case,
  tally: Tally,
  watch: () => Promise<readonly string[]>,
): Promise<void> {
  tally.sums.statements += 1;
  let { n } = one;
  // On a slow machine a deed may meet another fault first, and never get so far.
  for (let tries = 1; tries <= 10; tries += 1) {
    if (await meetOnce(stage, { ...one, n }, tally)) return void (tally.sums.strikes += 1);
    if (tries % 3 === 0) n = Math.min(n, (await watch()).length);
  }
  tally.violations.push(`${one.deed.name}, ${one.fault} at ${one.n}: it never struck`);
}

/** Whether the fault that is meant struck. */
async function meetOnce(stage: SickStage, one: Case, tally: Tally): Promise<boolean> {
  const { deed, turn, n, fault } = one;
  const { cable } = stage;
  const subject = await deed.prepare(stage, `case-${(serial += 1)}`, turn);
  const told = (): string =>
    `${deed.name} (${subject.payWay}), ${fault} at ${n}: ${cable.struck?.replaceAll(/\s+/g, ' ').slice(0, 60)}`;
  cable.strikeAt(n, fault);
  const first = await judged(stage, deed, subject, told, tally, async () => {
    cable.mend();
    await untilNothingIsOpen(stage);
    cable.bury();
  });
  const struck = cable.struck !== undefined;
  const outcome = `${first.status} ${first.body?.code ?? ''}`.trim();
  tally.statuses.set(outcome, (tally.statuses.get(outcome) ?? 0) + 1);
  const ahead = await repeat(stage, deed, subject, first, told, tally);
  await deed.follow?.(stage, subject);
  // Alipay takes no request of a clock that is far ahead of its own.
  stage.calm.clock.advance(-ahead);
  tally.subjects.push({ which: told(), deed, subject });
  return struck;
}

/** The answer of a deed, after it was compared with what is in the books: whatever it says must be so. */
async function judged(
  stage: SickStage,
  deed: Deed,
  subject: Subject,
  told: () => string,
  { violations }: Tally,
  afterwards = async () => {},
): Promise<Answer> {
  const before = await factsAbout(stage, subject.tag, subject.orderNo);
  const madeBefore = deed.makesNumber ? await deed.made(stage, subject) : [];
  const answer = await deed.act(stage, subject);
  await afterwards();
  const { status, body } = answer;
  const violated = (why: string) => violations.push(`${told()}: ${status} ${show(body)}, ${why}`);
  if (/nothing was changed/i.test(JSON.stringify(body))) {
    const after = await factsAbout(stage, subject.tag, subject.orderNo);
    if (after !== before) violated(`but ${before} became ${after}`);
  }
  if (deed.isDone(answer)) {
    subject.wasDone = true;
    const untruth = await deed.untruth(stage, subject, answer);
    if (untruth !== undefined) violated(`but ${show(untruth)}`);
  } else if (status <= 500 && !(status === 409 && body.retryable === true)) {
    violated('which is about something else');
  } else if (status > 500 && deed.makesNumber) {
    for (const number of await deed.made(stage, subject))
      if (!madeBefore.includes(number) && ![body.orderNo, body.refundNo].includes(number))
        violated(`which does not lead to ${number}`);
  }
  return answer;
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one));
}

/** The merchant repeats until it is done, as the documents say; gives the seconds by which the clock was put forward. */
async function repeat(
  stage: SickStage,
  deed: Deed,
  subject: Subject,
  first: Answer,
  told: () => string,
  tally: Tally,
): Promise<number> {
  let heard = first;
  let ahead = 0;
  if (deed.isDone(heard) && !deed.repeatable) return ahead;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    if (!deed.repeatable) {
      const found = await lookUp(stage, heard);
      if (found === 200) return ahead;
      if (found >= 500) continue;
    }
    // A lease of an attempt that broke off ends by the clock.
    if (heard.status === 409 || tries % 10 === 0) {
      ahead += 31;
      stage.calm.clock.advance(31);
    }
    heard = await judged(stage, deed, subject, () => `${told()}, repeated`, tally);
    tally.sums.repeats += 1;
    if (deed.isDone(heard)) return ahead;
  }
  tally.violations.push(`${told()}: never done, last ${heard.status} ${show(heard.body)}`);
  return ahead;
}

/** Whether what an answer named is there. */
async function lookUp({ sick, shop }: SickStage, { body }: Answer): Promise<number> {
  const path = body.refundNo ? `refunds/${body.refundNo}` : body.orderNo && `query/${body.orderNo}`;
  return path ? (await shop.callAt(sick.url, 'GET', `/api/v2/payment/${path}`)).status : 404;
}

/** Everything at rest: nothing lost, nothing twice, nothing left, and every place of the pool is there. */
async function assertAllEnded(t: ExecutionContext, stage: SickStage, tally: Tally): Promise<void> {
  const { calm, sick, shop } = stage;
  await until('the pool is whole', async () => {
    const ask = () => shop.callAt(sick.url, 'GET', '/api/v2/payment/orders?limit=1');
    return (await Promise.all(Array.from({ length: 30 }, ask))).every(({ status }) => status === 200);
  });
  await runUntilQuiet(calm, 6 * 3600, 1800);
  for (const { which, deed, subject } of tally.subjects) {
    const { is, should } = await deed.outcome(stage, subject);
    if (!isDeepStrictEqual(is, should)) tally.violations.push(`${which}: in the end ${show(is)}, not ${show(should)}`);
  }
  t.deepEqual(tally.violations, []);
  const [{ left, sold }] = (await calm.app.store.read(
    (tx) =>
      tx.sql`select (select stock from products where code = 'tea')::int as left,
      (select count(*) from orders where product_code = 'tea' and state = 'paid')::int as sold`,
  )) as [{ left: number; sold: number }];
  t.is(left + sold, STOCK, 'no piece is lost, and none is sold twice');
  t.deepEqual(await unexplained(calm), []);
  await assertBooksBalance(t, calm);
  await untilNothingIsOpen(stage);
}

/** Whether the service has to wait out its own bounds. */
const isSlow = (fault: StatementFault) => ['late-statement', 'late-answer', 'black-hole'].includes(fault);

const SHARING: readonly StatementFault[] = ['cut-before', 'reset'];

/**
 * To the database a statement that was cut before it arrived and one that was reset are the same, nothing was done: in a short run these
 * two faults share the deeds. Each deed meets every other fault.
 */
function meets(fault: StatementFault, turn: number): boolean {
  const place = SHARING.indexOf(fault);
  return isLong || place < 0 || turn % SHARING.length === place;
}

/**
 * In a short run: the COMMITs and one or two others. Where nothing was done it is every second of these, and the rest with the next deeds
 * of the kind; where each is a wait it is a COMMIT or another one in turns. In a long run all, or a share.
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
 * In a short run those with the same bounds meet one stage after the other: what a stage needs before and after is dearer than the
 * faults. A black hole is the last, for the connections that it has swallowed stay in the pool.
 */
const GROUPS: readonly (readonly StatementFault[])[] = isLong
  ? STATEMENT_FAULTS.map((fault) => [fault])
  : [STATEMENT_FAULTS.filter((fault) => !isSlow(fault)), STATEMENT_FAULTS.filter(isSlow)];

for (const faults of GROUPS)
  test(`${faults.join(', ')} at every statement of everything that moves money: nothing twice, nothing lost, every answer true`, async (t) => {
    if (isLong) t.timeout(3_600_000);
    const tally = newTally();
    const start = performance.now();
    // One lane for each channel; in a short run they take turns.
    const queues = isLong ? 3 : 1;
    await inParallel(queues, queues, async (queueKey) => {
      const stage = await sickStage(t, isSlow(faults[0]!) ? { databaseTimeouts: IMPATIENT } : {});
      const own: Tally = { ...tally, subjects: [] };
      const statementsOf = learner(stage);
      const learned = new Map<Deed, readonly string[]>();
      for (const fault of faults)
        for (const [turn, deed] of DEEDS.entries()) {
          if (!meets(fault, turn)) continue;
          const salt = queueKey + STATEMENT_FAULTS.indexOf(fault) + turn;
          // In a short run a deed has one channel in each group, and is watched once there: to watch it is as dear as a fault.
          const channel = isLong ? salt : turn + GROUPS.indexOf(faults);
          const watch = () => statementsOf(deed, channel);
          const statements = (isLong ? undefined : learned.get(deed)) ?? (await watch());
          learned.set(deed, statements);
          for (const n of chosen(statements, salt, turn, fault))
            await meetFault(stage, { deed, turn: channel, n, fault }, own, watch);
        }
      await assertAllEnded(t, stage, own);
    });
    const { sums, statuses, violations } = tally;
    const heard = [...statuses].map(([status, times]) => `${times} × ${status}`).join(', ');
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    t.log(
      `${DEEDS.length} operations, ${sums.statements} statements met, ${sums.strikes} strikes, ${sums.repeats} repeats, ` +
        `${violations.length} violations, ${seconds} s; first answers: ${heard}`,
    );
    t.is(sums.strikes, sums.statements, 'every fault struck');
  });
