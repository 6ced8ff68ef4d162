import test from 'ava';
import { count, inParallel, isLong } from '../support/counts.ts';
import { DEEDS } from '../support/sick-deeds.ts';
import { IMPATIENT, sickStage } from '../support/sick-stage.ts';
import { assertAllEnded, learner, meetFault, newTally, type Tally } from '../support/sick-trial.ts';
import { STATEMENT_FAULTS, type StatementFault } from '../support/statement-cable.ts';

/** Whether the service has to wait out its own bounds. */
const isSlow = (fault: StatementFault) => ['late-statement', 'late-answer', 'black-hole'].includes(fault);

const SHARING: readonly StatementFault[] = ['cut-before', 'reset'];

/**
 * In a short run: the COMMITs and a few others, or one of each kind where each is a wait; in a long run all, or a share. What was cut
 * before it arrived and what was reset are the same to the database, nothing was done: in a short run these two share the statements.
 */
function chosen(statements: readonly string[], salt: number, fault: StatementFault): number[] {
  const all = statements.map((_, at) => at + 1);
  const commits = all.filter((n) => statements[n - 1] === 'commit');
  const others = all.filter((n) => statements[n - 1] !== 'commit');
  if (!isLong && isSlow(fault)) return [commits[salt % commits.length]!, others[(salt * 7) % others.length]!];
  if (!isLong) {
    const few = [...commits, ...others.filter((n) => (n + salt) % 9 === 0)];
    const turn = SHARING.indexOf(fault);
    return few.filter((_, at) => turn < 0 || at % SHARING.length === turn);
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
      for (const fault of faults)
        for (const [turn, deed] of DEEDS.entries()) {
          const salt = lane + STATEMENT_FAULTS.indexOf(fault) + turn;
          const statements = await statementsOf(deed, salt);
          for (const n of chosen(statements, salt, fault)) await meetFault(stage, { deed, turn: salt, n, fault }, own);
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
