import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { auditKnowledgeFlags, type AuditKnowledgeFlags, run } from '../audit.ts';

/** Adds `audit-log verify`: `payctl audit` for this log alone. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('verify')
    .description(
      'Verify that no line of the audit log was changed, removed or put in: each is authenticated with a key of the service and the line before it. With --tip also that nothing was cut off the end. Exits with 1 if not.',
    );
  examples(
    auditKnowledgeFlags(command),
    'payctl audit-log verify',
    `payctl audit-log verify --tip ${'a'.repeat(64)}`,
    'payctl audit-log verify --json',
  ).action((flags: AuditKnowledgeFlags) => run(context(), { ...flags, only: 'audit-log' }));
}
