import type { Command } from 'commander';
import type { ContextOf } from '../context.ts';
import { addExport } from '../export-stream.ts';
import { examples } from '../options.ts';
import { type Resource, addList } from '../resource.ts';
import { type AuditFlags, auditKnowledgeFlags, keptTipFlag, run } from './audit.ts';
import { period } from './views.ts';

const auditLog: Resource = {
  noun: 'line',
  plural: 'lines',
  path: '/api/v1/audit-log',
  idName: 'id',
  view: {
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
  },
  filters: [
    { name: 'actor', value: 'name', help: 'filter by actor: a username or client_id' },
    { name: 'action', value: 'action', help: 'filter by action, e.g. app.create' },
    { name: 'target', value: 'target', help: 'filter by target, e.g. a client_id or order number' },
    ...period('since', 'before'),
  ],
};

function defineVerify(noun: Command, context: ContextOf): void {
  const command = noun
    .command('verify')
    .description(
      'Verify that no line of the audit log was changed, removed or inserted: each line is authenticated with a key of the service and the previous line. The log must still contain the tip that payctl stored last time, or the tip of --tip. Exits with 1 if a check fails.',
    );
  examples(
    keptTipFlag(auditKnowledgeFlags(command)),
    'payctl audit-log verify',
    `payctl audit-log verify --tip ${'a'.repeat(64)}`,
    'payctl audit-log verify --json',
  ).action((flags: AuditFlags) => run(context(), { ...flags, only: 'audit-log' }));
}

/** Adds the subcommands of `payctl audit-log`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Read, verify and export the audit log, the record of administrative changes.');
  addList(
    noun,
    context,
    auditLog,
    [
      'payctl audit-log list --since 24h',
      'payctl audit-log list --actor alice --action channel-config.write',
      'payctl audit-log list --target app_7Kd2mQxW9bTzR4vLp1Ns --json',
    ],
    'List audit log lines with their actor and target, newest first.',
  );
  defineVerify(noun, context);
  addExport(
    noun,
    context,
    auditLog,
    'Export all matching lines as CSV or NDJSON with their hashes, newest first, to stdout or to a new file that is created only once it is complete. The export is a line of the log itself.',
    [
      'payctl audit-log export --since 2026-11-01 --format ndjson --file november.ndjson',
      'payctl audit-log export --actor alice > alice.csv',
    ],
  );
}
