import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import { type Finding, printFindings } from '../../findings.ts';
import { databaseLine, offlineFlags, translate, withOffline, type OfflineFlags } from '../../offline.ts';
import type { CopyInput, DatabaseDescription, Offline } from '../../offline-port.ts';
import { examples } from '../../options.ts';
import { readSecretFile } from '../../secrets.ts';
import { withSpinner } from '../../spinner.ts';
import { auditKnowledgeFlags, type AuditKnowledgeFlags } from '../audit.ts';
import { failed, ok } from '../doctor/finding.ts';
import { judge } from './restored.ts';

/** The flags of `server restore-check`. */
export type RestoreCheckFlags = OfflineFlags &
  AuditKnowledgeFlags & { live?: boolean; urlFile?: string; secrets?: string };

/** Adds `server restore-check`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('restore-check')
      .description(
        'Prove that a backup can be used: reads a restored copy from end to end and checks schema, encrypted records, audit log, ledger, sequences, event log and clock. The copy is a PostgreSQL URL, the folder of an embedded database, or a file that server backup wrote. Changes nothing, unless --migrate is given. Exits with 1 if a check fails.',
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
  ).action((copy: string | undefined, flags: RestoreCheckFlags) => run(context(), copy, flags));
}

/** Checks the copy and says whether it can be used. */
export async function run(context: Context, copy: string | undefined, flags: RestoreCheckFlags): Promise<void> {
  const place = await placeOf(context, copy, flags);
  const secrets = flags.secrets === undefined ? {} : { secrets: flags.secrets };
  const restored: CopyInput | 'live' = place === undefined ? 'live' : { place, ...secrets };
  const findings = await withOffline(context, flags, (offline) => check(context, offline, flags), {
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
    first.fix ? { hint: first.fix } : {},
  );
}

async function placeOf(
  { terminal }: Context,
  copy: string | undefined,
  { live, urlFile, migrate }: RestoreCheckFlags,
): Promise<string | undefined> {
  const named = [copy, urlFile, live ? 'live' : undefined].filter((one) => one !== undefined);
  if (named.length !== 1)
    throw new UsageError('Name one copy: an argument, --url-file or --live.', 'payctl server restore-check --help');
  if (live && migrate) throw new UsageError('--live only reads, so it cannot be combined with --migrate.');
  if (urlFile !== undefined) return readSecretFile(terminal, urlFile);
  if (copy !== undefined && /^postgres(ql)?:\/\/[^/@]*:[^/@]+@/.test(copy))
    throw new UsageError(
      'A password in an argument is visible to every user of this machine.',
      'use --url-file, or the variable PGPASSWORD',
      'secret_in_argument',
    );
  return copy;
}

async function check(context: Context, offline: Offline, flags: RestoreCheckFlags): Promise<Finding[]> {
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

/** A database of an unreleased build is a finding like any other. */
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
      'add --migrate to apply them to this copy, as a start of this release does',
    );
  if (newer.length > 0)
    return {
      ...ok('schema', `written by a newer release (${newer.join(', ')}), whose additions are not checked here`),
      status: 'degraded',
      fix: 'check it with that release',
    };
  return ok(
    'schema',
    applied.length > 0 ? `${version}; ${applied.length} migrations were applied to this copy` : version,
  );
}
