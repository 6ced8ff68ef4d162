import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, codeFlags, examples } from '../../options.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import { withCode, type CodeFlags } from '../../second-factor.ts';
import { openSecretSink } from '../../secrets.ts';
import { CODES_VIEW, SECOND_FACTOR } from './view.ts';

/** The flags of `second-factor recovery-codes`. */
export interface CodesFlags extends ChangeFlags, CodeFlags {
  recoveryCodesFile?: string;
}

/** Adds `second-factor recovery-codes`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('recovery-codes')
    .description(
      'Get new recovery codes, with a code; the earlier recovery codes no longer work. The new ones are shown only once.',
    )
    .option('--recovery-codes-file <file>', 'write the recovery codes to a new file');
  examples(
    changes(codeFlags(command)),
    'payctl second-factor recovery-codes --recovery-codes-file alice.codes',
    'payctl second-factor recovery-codes --code-secret-file alice.totp -y -o json',
  ).action((flags: CodesFlags) => run(context(), flags));
}

/** Replaces the codes and delivers the new ones. */
export async function run(context: Context, options: CodesFlags): Promise<void> {
  const { change, flags } = context;
  const request: Change = {
    what: 'replace your recovery codes',
    risk: 'moderate',
    method: 'POST',
    path: `${SECOND_FACTOR}/recovery-codes`,
  };
  if (options.dryRun) return void (await change(request, options));
  const sinkOf = { ...context, quiet: flags.quiet === true };
  const codesFlag = '--recovery-codes-file';
  const sink = await openSecretSink(sinkOf, { secretFile: options.recoveryCodesFile }, 'recoveryCodes', codesFlag);
  try {
    const row = await withCode(context, options, (code, isPart) =>
      change({ ...request, ...(code !== undefined && { body: { code } }), isPart }, options),
    );
    if (row) await sink.deliver({ enabled: true, ...row }, CODES_VIEW, 'payctl second-factor recovery-codes');
  } finally {
    await sink.discard();
  }
}
