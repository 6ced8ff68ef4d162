import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, FlagRequired } from '../../errors.ts';
import { reserveFile } from '../../files.ts';
import { changes, codeFlags, examples } from '../../options.ts';
import { drawQr } from '../../qr.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import { askCode, withCode, type CodeFlags, codeOf } from '../../second-factor.ts';
import { openSecretSink } from '../../secrets.ts';
import { plain, type Row } from '../../values.ts';
import { CODES_VIEW, SECOND_FACTOR } from './view.ts';

/** The flags of `second-factor enable`. */
export interface EnableFlags extends ChangeFlags, CodeFlags {
  secretFile?: string;
  recoveryCodesFile?: string;
}

/** Adds `second-factor enable`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('enable')
    .description(
      'Enrol a second factor, or, with a code of the present one, another authenticator in its place. Scan the QR code with an authenticator app and enter its code; the recovery codes are shown only once. Your other sessions end.',
    )
    .option('--secret-file <file>', 'write the secret to a new file and confirm it without an app, for scripts')
    .option('--recovery-codes-file <file>', 'write the recovery codes to a new file');
  examples(
    changes(codeFlags(command)),
    'payctl second-factor enable',
    'payctl second-factor enable --recovery-codes-file alice.codes',
    'payctl second-factor enable --code-secret-file alice.totp --secret-file alice.totp.new --recovery-codes-file alice.codes',
  ).action((flags: EnableFlags) => run(context(), flags));
}

/** Enrols an authenticator; where everything secret goes is settled before anything is made. */
export async function run(context: Context, options: EnableFlags): Promise<void> {
  const { change, print, prompts, terminal, flags } = context;
  const request: Change = { what: 'enrol your second factor', method: 'POST', path: `${SECOND_FACTOR}/start` };
  if (options.dryRun) return void (await change(request, options));
  if (!options.secretFile && !prompts.possible) throw new FlagRequired('--secret-file');
  const sinkOf = { ...context, quiet: flags.quiet === true };
  const codesFlag = '--recovery-codes-file';
  const sink = await openSecretSink(sinkOf, { secretFile: options.recoveryCodesFile }, 'recoveryCodes', codesFlag);
  const file = options.secretFile ? await reserveFile(resolve(terminal.cwd, options.secretFile)) : undefined;
  try {
    const started = await withCode(context, options, (code, isPart) =>
      change({ ...request, ...(code !== undefined && { body: { code } }), isPart }, options),
    );
    if (!started) return;
    const secret = plain(started['secret']);
    if (file) await file.commit(`${secret}\n`);
    else await showSecret(context, secret, plain(started['uri']));
    const confirmed = file ? await confirm(context, await codeOf(secret, terminal.now())) : await confirmByApp(context);
    context.known.done = 'enrol your second factor';
    await sink.deliver({ enabled: true, ...confirmed }, CODES_VIEW, 'payctl second-factor recovery-codes');
  } finally {
    await sink.discard();
    await file?.discard();
  }
  if (options.secretFile) await print.note(`The secret was written to ${options.secretFile} (mode 0600).`);
  await print.done('From now on a login needs a code. Each recovery code works once, without the authenticator.');
}

async function showSecret({ terminal: { err } }: Context, secret: string, uri: string): Promise<void> {
  const drawn = err.isTerminal ? await drawQr(uri, err) : undefined;
  const byHand = secret.replaceAll(/.{4}(?=.)/g, '$& ');
  // The code comes last, so that the whole of it and the question are in sight on a terminal of 24 rows.
  await err.write(
    drawn === undefined
      ? `Enter the secret in an authenticator app:\n\n  ${byHand}\n\n`
      : `Scan the QR code with an authenticator app, or enter the secret by hand:\n\n  ${byHand}\n\n${drawn}`,
  );
}

function confirm({ api }: Context, code: string): Promise<Row> {
  return api.data({ method: 'POST', path: `${SECOND_FACTOR}/confirm`, body: { code } });
}

/** Asks until the code is right; a mistyped one changes nothing. */
async function confirmByApp(context: Context): Promise<Row> {
  for (;;) {
    const code = await askCode(context.prompts, 'Code that the authenticator shows now');
    const answer = await confirm(context, code).catch((error: unknown) => {
      if (error instanceof CliError && error.options.fields?.some((field) => field.code === 'code_wrong'))
        return undefined;
      throw error;
    });
    if (answer) return answer;
    await context.print.note('That is not the code; check the clock of the phone and try the next one.');
  }
}
