import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { type AuditFlags, auditKnowledgeFlags, keptTipFlag, run } from '../audit.ts';

/** Adds `audit-log verify`: `payctl audit` for this log alone. */
export function define(noun: Command, context: ContextOf): void {
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
