import test from 'ava';
import { count, inParallel, isLong } from '../support/counts.ts';
import { type Deed, DEEDS } from '../support/sick-deeds.ts';
import { IMPATIENT, sickStage, type SickStage } from '../support/sick-stage.ts';
import { assertAllEnded, meetFault, newTally, statementsOf, type Tally } from '../support/sick-trial.ts';
import { STATEMENT_FAULTS, type StatementFault } from '../support/statement-cable.ts';

/** Whether the service has to wait out its own bounds. */
const isSlow = (fault: StatementFault) => ['late-statement', 'late-answer', 'black-hole'].includes(fault);

/** In a short run: the COMMITs and a few others, or one of each kind where each is a wait; in a long run all, or a share. */
function chosen(statements: readonly string[], salt: number, slow: boolean): number[] {
  const all = statements.map((_, at) => at + 1);
  const commits = all.filter((n) => statements[n - 1] === 'commit');
  const others = all.filter((n) => statements[n - 1] !== 'commit');
  if (!isLong && slow) return [commits[salt % commits.length]!, others[(salt * 7) % others.length]!];
  if (!isLong) return all.filter((n) => commits.includes(n) || (n + salt) % 9 === 0);
  const most = count(all.length, 1);
  return all.filter((n) => Math.floor((n * most) / all.length) > Math.floor(((n - 1) * most) / all.length));
}

async function meetAll(stage: SickStage, deed: Deed, fault: StatementFault, salt: number, tally: Tally): Promise<void> {
  const statements = await statementsOf(stage, deed, salt);
  for (const n of chosen(statements, salt, isSlow(fault)))
    await meetFault(stage, { deed, turn: salt, n, fault }, tally);
}

for (const [at, fault] of STATEMENT_FAULTS.entries())
  test(`${fault} at every statement of everything that moves money: nothing twice, nothing lost, every answer true`, async (t) => {
    if (isLong) t.timeout(3_600_000);
    const tally = newTally();
    const start = performance.now();
    // One lane for each channel; in a short run they take turns.
    const lanes = isLong ? 3 : 1;
    await inParallel(lanes, lanes, async (lane) => {
      const stage = await sickStage(t, isSlow(fault) ? { databaseTimeouts: IMPATIENT } : {});
      const own = { ...tally, subjects: [] };
      for (const [turn, deed] of DEEDS.entries()) await meetAll(stage, deed, fault, lane + at + turn, own);
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
