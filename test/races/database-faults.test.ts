import test from 'ava';
import { count, inParallel, isLong } from '../support/counts.ts';
import { type Deed, DEEDS } from '../support/sick-deeds.ts';
import { IMPATIENT, sickStage } from '../support/sick-stage.ts';
import { assertAllEnded, learner, meetFault, newTally, type Tally } from '../support/sick-trial.ts';
import { STATEMENT_FAULTS, type StatementFault } from '../support/statement-cable.ts';

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
    const lanes = isLong ? 3 : 1;
    await inParallel(lanes, lanes, async (lane) => {
      const stage = await sickStage(t, isSlow(faults[0]!) ? { databaseTimeouts: IMPATIENT } : {});
      const own: Tally = { ...tally, subjects: [] };
      const statementsOf = learner(stage);
      const learned = new Map<Deed, readonly string[]>();
      for (const fault of faults)
        for (const [turn, deed] of DEEDS.entries()) {
          if (!meets(fault, turn)) continue;
          const salt = lane + STATEMENT_FAULTS.indexOf(fault) + turn;
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
