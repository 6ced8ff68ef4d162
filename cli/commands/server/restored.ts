import type { Finding } from '../../findings.ts';
import type { RestoredFacts } from '../../offline-port.ts';
import { relativeTime } from '../../values.ts';
import { degraded, failed, ok } from '../doctor/finding.ts';
import { seals } from '../doctor/offline.ts';

/** What the judgement depends on beside the copy. */
interface Surroundings {
  now: Date;
  /** The tip that somebody kept. */
  tip?: string | undefined;
}

/** Judges what was read of a copy, check by check: what is well, what is broken, and what to do. */
export function judge(facts: RestoredFacts, { now, tip }: Surroundings): Finding[] {
  return [
    ...seals(facts),
    auditLog(facts, tip),
    ...ledger(facts),
    ...sequences(facts),
    gaps(facts),
    eventLog(facts),
    ...clock(facts),
    age(facts, now),
  ];
}

/** The check of the audit log among those of the books. */
const AUDIT = 'audit-log';

/** What its faults mean for somebody who restores. */
const AUDIT_FIXES: Readonly<Record<string, string>> = {
  key_unknown: 'add the former key to Security.MasterKey',
  lines_lost: 'if an earlier restore or failover lost lines, name that line with --accept-until',
  first_missing: 'use another backup: the log was emptied',
};

function auditLog({ proofs, auditLog: { lines, tip: found } }: RestoredFacts, tip: string | undefined): Finding {
  const [first] = proofs.find(({ check }) => check === AUDIT)?.examples ?? [];
  if (first?.detail === 'tip_missing')
    return failed(
      'audit log',
      'the tip that you kept is not in it: the backup is older than the tip, or lines were cut off the end',
      'use a newer backup',
    );
  if (first)
    return failed(
      'audit log',
      `the chain breaks at line ${first.id}: ${first.detail}`,
      AUDIT_FIXES[first.detail] ?? 'compare with payctl audit on the live service, or use another backup',
    );
  return ok(
    'audit log',
    `${lines} ${lines === 1 ? 'line' : 'lines'}, tip ${found}${tip === undefined ? '' : '; the tip that you kept is in it'}`,
  );
}

function ledger({ proofs }: RestoredFacts): Finding[] {
  const books = proofs.filter(({ check }) => check !== AUDIT);
  const broken = books.filter((proof) => !proof.ok);
  if (broken.length === 0) return [ok('ledger', `${books.length} checks passed, over every order`)];
  return broken.map(({ check, promise, count, examples: [first] }) =>
    failed(
      `ledger ${check}`,
      `${promise}: ${count} violations${first ? `, first ${first.id}: ${first.detail}` : ''}`,
      'run payctl audit on the live service: what is broken there too is no fault of the backup',
    ),
  );
}

function sequences(facts: RestoredFacts): Finding[] {
  const behind = facts.sequences.filter(({ last, highest }) => BigInt(last) < BigInt(highest));
  if (behind.length === 0) return [ok('sequences', `${facts.sequences.length}, none behind its table`)];
  return behind.map(({ table, sequence, last, highest }) =>
    failed(
      'sequences',
      `${sequence} is at ${last}, but ${table} has ${highest}: the next row would be refused, or not be seen`,
      `psql -c "select setval('${sequence}', ${highest})"`,
    ),
  );
}

/** A transaction that did not commit leaves one, so it is told and judged by nobody. */
function gaps({ gaps: found }: RestoredFacts): Finding {
  const open = found.filter(({ missing }) => BigInt(missing) > 0n);
  if (open.length === 0) return ok('gaps', 'no number is missing');
  const listed = open.map(({ table, missing, first }) => {
    const more = BigInt(missing) > BigInt(first.length) && first.length > 0 ? ' …' : '';
    return `${table} ${missing} (${first.join(', ')}${more})`;
  });
  return ok('gaps', `numbers that no row has, as transactions that were rolled back leave them: ${listed.join('; ')}`);
}

function eventLog({ events, sequences: all }: RestoredFacts): Finding {
  const highest = all.find(({ table }) => table === 'events')?.highest ?? '0';
  if (BigInt(events.last) < BigInt(highest))
    return failed(
      'event log',
      `readers see it up to ${events.last}, but it goes to ${highest}`,
      'mend the sequence of events first',
    );
  return ok('event log', `${events.read} ${events.read === 1 ? 'event' : 'events'}, readable`);
}

function clock({ future }: RestoredFacts): Finding[] {
  if (future.length === 0) return [ok('clock', 'no row is from the future')];
  return future.map(({ table, column, rows, latest }) =>
    failed(
      'clock',
      `${rows} rows of ${table} say ${column} ${latest}, which is later than now`,
      'check the clock of this machine (timedatectl), and that of the machine that wrote them',
    ),
  );
}

function age({ newest }: RestoredFacts, now: Date): Finding {
  if (newest === null) return degraded('age', 'nothing was ever written to it', 'check that it is the right backup');
  return ok('age', `the newest row is of ${newest.at} (${relativeTime(newest.at, now)}): what came later is not in it`);
}
