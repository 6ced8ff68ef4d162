import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { type Finding, printFindings } from '../findings.ts';
import type { CopyInput, DatabaseDescription, Offline, RestoredFacts } from '../../server/offline/port.ts';
import { type OfflineFlags, databaseLine, offlineFlags, translate, withOffline } from '../offline.ts';
import { english } from '../language.ts';
import { examples } from '../options.ts';
import { readSecretFile } from '../secrets.ts';
import { withSpinner } from '../terminal.ts';
import { relativeTime } from '../values.ts';
import { type AuditKnowledgeFlags, auditKnowledgeFlags } from './audit.ts';
import { degraded, failed, ok } from './doctor/finding.ts';
import { seals, wrongKey } from './doctor/offline.ts';

interface Surroundings {
  now: Date;
  /** Hash of an audit log entry that the operator stored; undefined without --tip. */
  tip?: string | undefined;
}

function judge(facts: RestoredFacts, { now, tip }: Surroundings): Finding[] {
  return [
    ...(isWrongKey(facts) ? [wrongKey(facts.encrypted.total)] : seals(facts)),
    auditLog(facts, tip),
    ...ledger(facts),
    ...sequences(facts),
    gaps(facts),
    eventLog(facts),
    ...clock(facts),
    age(facts, now),
  ];
}

const AUDIT = 'audit-log';

const AUDIT_FIXES: Readonly<Record<string, string>> = {
  key_unknown: 'set Security.MasterKey to the key of this database, followed by its former keys',
  lines_lost: 'if an earlier restore or failover lost lines, give the id of that line with --accept-until',
  first_missing: 'use another backup: the log was emptied',
};

/** Without encrypted records, the first line of the audit log shows whether the key is the one of the database. */
function isWrongKey({ encrypted: { total }, proofs, auditLog: { lines } }: RestoredFacts): boolean {
  const [first] = proofs.find(({ check }) => check === AUDIT)?.examples ?? [];
  return total === 0 && lines === 0 && first?.detail === 'key_unknown';
}

function auditLog({ proofs, auditLog: { lines, tip: found } }: RestoredFacts, tip: string | undefined): Finding {
  const [first] = proofs.find(({ check }) => check === AUDIT)?.examples ?? [];
  if (first?.detail === 'tip_missing')
    return failed(
      'audit log',
      'the hash given with --tip is not in the audit log: the backup is older than this hash, or the last lines were removed',
      'use a newer backup',
    );
  if (first)
    return failed(
      'audit log',
      `the hash chain of the audit log breaks at line ${first.id}: ${first.detail}`,
      AUDIT_FIXES[first.detail] ?? 'compare with payctl audit on the live service, or use another backup',
    );
  return ok(
    'audit log',
    `${lines} ${lines === 1 ? 'line' : 'lines'}, tip ${found}${tip === undefined ? '' : '; the hash given with --tip is in the log'}`,
  );
}

function ledger({ proofs }: RestoredFacts): Finding[] {
  const checks = proofs.filter(({ check }) => check !== AUDIT);
  const broken = checks.filter((proof) => !proof.ok);
  if (broken.length === 0) return [ok('ledger', `${checks.length} checks passed, over every order`)];
  return broken.map(({ check, promise, count, examples: [first] }) =>
    failed(
      `ledger ${check}`,
      `${promise}: ${count} violations${first ? `, first ${first.id}: ${first.detail}` : ''}`,
      'run payctl audit on the live service: if it reports the same violations, the backup is not the cause',
    ),
  );
}

function sequences(facts: RestoredFacts): Finding[] {
  const behind = facts.sequences.filter(({ last, highest }) => BigInt(last) < BigInt(highest));
  if (behind.length === 0) return [ok('sequences', `${facts.sequences.length}, none behind its table`)];
  return behind.map(({ table, sequence, last, highest }) =>
    failed(
      'sequences',
      `the sequence ${sequence} is at ${last}, but the table ${table} already has the number ${highest}: the database would refuse the next row, or readers of new events would miss it`,
      `psql -c "select setval('${sequence}', ${highest})"`,
    ),
  );
}

/** The check always passes, because a rolled-back transaction also leaves a gap in the row numbers. */
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
      `readers of the event log get only the events up to number ${events.last}, but the newest event has number ${highest}`,
      'first repair the sequence of the table events: run the command of the check "sequences"',
    );
  return ok('event log', `${events.read} ${events.read === 1 ? 'event' : 'events'}, readable`);
}

function clock({ future }: RestoredFacts): Finding[] {
  if (future.length === 0) return [ok('clock', 'no row is from the future')];
  return future.map(({ table, column, rows, latest }) =>
    failed(
      'clock',
      `${rows} rows of ${table} have a ${column} in the future, up to ${latest}`,
      'check the clock (timedatectl) of this machine and of the machine that wrote the rows',
    ),
  );
}

function age({ newest }: RestoredFacts, now: Date): Finding {
  if (newest === null) return degraded('age', 'the copy has no rows', 'check that it is the right backup');
  return ok(
    'age',
    `the newest row is of ${newest.at} (${relativeTime(newest.at, now)}): later changes are not in the copy`,
  );
}

type RestoreCheckFlags = OfflineFlags & AuditKnowledgeFlags & { live?: boolean; urlFile?: string; secrets?: string };

/** Adds `server restore-check`. */
export function defineRestoreCheck(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('restore-check')
      .description(
        'Verify that a backup can be used: reads a restored copy completely and checks schema, encrypted records, audit log, ledger, sequences, event log and clock. The copy is a PostgreSQL URL, the folder of an embedded database, or a file that server backup wrote. Changes nothing, unless --migrate is given. Exits with 1 if a check fails.',
      )
      .argument('[copy]'),
    { migrate: true },
  )
    .option('--url-file <file>', 'read the URL of the copy from a file, if it has a password')
    .option('--secrets <folder>', 'folder with the secrets of an embedded database, if it is not beside it')
    .option('--live', 'check the configured database itself, not a copy');
  examples(
    auditKnowledgeFlags(command),
    'payctl server restore-check postgres://pay@127.0.0.1/pay_restored',
    'payctl server restore-check /backup/pay-2026-11-21.tar.gz --secrets /backup/pglite-secrets',
    'payctl server restore-check --live --json',
  ).action((copy: string | undefined, flags: RestoreCheckFlags) => runRestoreCheck(context(), copy, flags));
}

async function runRestoreCheck(context: Context, copy: string | undefined, flags: RestoreCheckFlags): Promise<void> {
  const place = await placeOf(context, copy, flags);
  const secrets = flags.secrets === undefined ? {} : { secrets: flags.secrets };
  const restored: CopyInput | 'live' = place === undefined ? 'live' : { place, ...secrets };
  const findings = await withOffline(context, flags, (offline) => checkCopy(context, offline, flags), {
    mustExist: true,
    restored,
  });
  await printFindings(context, findings, 'check');
  const broken = findings.filter(({ status }) => status === 'failed');
  const [first] = broken;
  if (!first) return context.print.done(`This backup can be used: all ${findings.length} checks passed.`);
  throw new CliError(
    'backup_unusable',
    EXIT.failed,
    `This backup cannot be used as it is: ${broken.length} of ${findings.length} checks failed; first: ${first.check}.`,
    first.fix ? { hint: english(first.fix) } : {},
  );
}

async function placeOf(
  { terminal }: Context,
  copy: string | undefined,
  { live, urlFile, migrate }: RestoreCheckFlags,
): Promise<string | undefined> {
  const named = [copy, urlFile, live ? 'live' : undefined].filter((one) => one !== undefined);
  if (named.length !== 1)
    throw new UsageError('Give exactly one of COPY, --url-file and --live.', 'payctl server restore-check --help');
  if (live && migrate) throw new UsageError('--live only reads, so it cannot be combined with --migrate.');
  if (urlFile !== undefined) return readSecretFile(terminal, urlFile);
  if (copy !== undefined && /^postgres(ql)?:\/\/[^/@]*:[^@]+@/.test(copy))
    throw new UsageError(
      'A password in an argument is visible to every user of this machine.',
      'use --url-file, or the variable PGPASSWORD',
      'secret_in_argument',
    );
  return copy;
}

async function checkCopy(context: Context, offline: Offline, flags: RestoreCheckFlags): Promise<Finding[]> {
  const { print, terminal } = context;
  const before = await offline.describeDatabase().catch(asFinding);
  if ('check' in before) return [before];
  await print.note(databaseLine(terminal, before));
  const applied = flags.migrate && before.schema.version !== null ? (await offline.migrate()).applied : [];
  const found = applied.length > 0 ? await offline.describeDatabase() : before;
  const schema = schemaFinding(found, applied);
  if (schema.status === 'failed') return [schema];
  const { tip, acceptUntil } = flags;
  const facts = await withSpinner(terminal.err, 'Reading the copy', () =>
    offline.checkRestored({ ...(tip && { tip }), ...(acceptUntil && { acceptUntil }) }),
  );
  return [schema, ...judge(facts, { now: terminal.now(), tip })];
}

/** A database of an unreleased build is reported as a failed check, not as an error. */
function asFinding(error: unknown): Finding {
  const known = translate(error);
  if (!(known instanceof CliError) || known.code !== 'schema_unreleased') throw error;
  return failed('schema', known.message, known.options.hint ?? '');
}

function schemaFinding(
  { schema: { version, pending, newer } }: DatabaseDescription,
  applied: readonly string[],
): Finding {
  if (version === null) return failed('schema', 'the database is empty', 'restore the backup into it first');
  if (pending > 0)
    return failed(
      'schema',
      `${pending} migrations are pending: the backup is from before an upgrade`,
      'add --migrate to apply the migrations to this copy, as this release does when it starts',
    );
  if (newer.length > 0)
    return {
      ...ok('schema', `written by a newer release (${newer.join(', ')}), whose additions are not checked here`),
      status: 'degraded',
      fix: 'check the copy with the newer release',
    };
  return ok(
    'schema',
    applied.length > 0 ? `${version}; ${applied.length} migrations were applied to this copy` : version,
  );
}
