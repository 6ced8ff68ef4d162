import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { type ExportFlags, exportFlags, exportStream } from '../export-stream.ts';
import { examples, instant, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, printList } from '../resource.ts';
import type { Row, View } from '../values.ts';
import { type AuditFlags, auditKnowledgeFlags, keptTipFlag, run } from './audit.ts';

/** The console's path of the audit log. */
const AUDIT_LOG = '/api/v1/audit-log';

/** How lines of the audit log are shown. */
const VIEW: View = {
  noun: 'line',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'at', title: 'WHEN', kind: 'time' },
    { field: 'actor' },
    { field: 'action', kind: 'id' },
    { field: 'target' },
    { field: 'ip' },
    { field: 'actorKind', title: 'KIND' },
    { field: 'requestId', title: 'REQUEST', kind: 'id' },
  ],
};

/** What lines can be found by. */
const FILTERS: readonly Field[] = [
  { name: 'actor', value: 'name', help: 'filter by who did it: a username or client_id' },
  { name: 'action', value: 'action', help: 'filter by action, e.g. app.create' },
  { name: 'target', value: 'target', help: 'filter by what it was done to, e.g. a client_id or order number' },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'since this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'before this time', read: instant },
];

/** Adds `audit-log list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List what was changed and by whom, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl audit-log list --since 24h',
    'payctl audit-log list --actor alice --action channel-config.write',
    'payctl audit-log list --target app_7Kd2mQxW9bTzR4vLp1Ns --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the lines that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, AUDIT_LOG, bodyOf(options, FILTERS) as Query, VIEW, options);
}

/** Adds `audit-log export`. */
function defineExport(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export all matching lines as CSV or NDJSON with their hashes, newest first, to stdout or to a new file that is created only once it is complete. The export is a line of the log itself.',
    );
  addFields(command, FILTERS);
  examples(
    exportFlags(command),
    'payctl audit-log export --since 2026-11-01 --format ndjson --file november.ndjson',
    'payctl audit-log export --actor alice > alice.csv',
  ).action((options: Row & ExportFlags) => runExport(context(), options));
}

/** Exports the lines that pass the filters. */
function runExport(context: Context, options: Row & ExportFlags): Promise<void> {
  return exportStream(context, `${AUDIT_LOG}/export`, bodyOf(options, FILTERS) as Query, options);
}

/** Adds `audit-log verify`: `payctl audit` for this log alone. */
function defineVerify(noun: Command, context: ContextOf): void {
  const command = noun
    .command('verify')
    .description(
      'Verify that no line of the audit log was changed, removed or put in: each is authenticated with a key of the service and the line before it. Nothing up to the tip that payctl kept last time, or that --tip says, may have been cut off the end. Exits with 1 if not.',
    );
  examples(
    keptTipFlag(auditKnowledgeFlags(command)),
    'payctl audit-log verify',
    `payctl audit-log verify --tip ${'a'.repeat(64)}`,
    'payctl audit-log verify --json',
  ).action((flags: AuditFlags) => run(context(), { ...flags, only: 'audit-log' }));
}

/** Adds the verbs of `audit-log`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Read, verify and export the audit log: who changed what.');
  for (const addVerb of [defineList, defineVerify, defineExport]) addVerb(noun, context);
}
