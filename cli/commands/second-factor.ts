import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { Context, ContextOf } from '../context.ts';
import { CliError, FlagRequired } from '../errors.ts';
import { type ReservedFile, reserveFile } from '../files.ts';
import { changes, codeFlags, examples, passwordFlags } from '../options.ts';
import { type CodeFlags, askCode, codeOf, givenCode, withCode } from '../own-login.ts';
import { drawQr } from '../qr.ts';
import type { Change, ChangeFlags } from '../safety.ts';
import { type PasswordFlags, openSecretSink, takePassword } from '../secrets.ts';
import { type Row, type View, plain } from '../values.ts';

const SECOND_FACTOR = '/api/v1/me/second-factor';

const CODES_VIEW: View = {
  noun: 'second-factor',
  id: 'enabled',
  columns: [{ field: 'enabled', kind: 'yesno' }],
};

const VIEW: View = {
  noun: 'second-factor',
  id: 'enabled',
  columns: [
    { field: 'enabled', kind: 'yesno' },
    { field: 'enabledAt', kind: 'time' },
    { field: 'recoveryCodesLeft' },
    { field: 'required', kind: 'yesno' },
  ],
};

function defineStatus(noun: Command, context: ContextOf): void {
  const command = noun
    .command('status')
    .description('Show whether you have a second factor, and how many recovery codes are left.');
  examples(command, 'payctl second-factor status', 'payctl second-factor status --json').action(() =>
    runStatus(context()),
  );
}

async function runStatus({ api, print }: Context): Promise<void> {
  await print.item(await api.get(SECOND_FACTOR), VIEW);
}

interface EnableFlags extends ChangeFlags, CodeFlags {
  secretFile?: string;
  recoveryCodesFile?: string;
}

function defineEnable(noun: Command, context: ContextOf): void {
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
  ).action((flags: EnableFlags) => runEnable(context(), flags));
}

/** Checks before the request that every new secret can be written to its file or stdout. */
async function runEnable(context: Context, options: EnableFlags): Promise<void> {
  const { change, print, prompts, terminal, flags } = context;
  const request: Change = { what: 'enrol your second factor', method: 'POST', path: `${SECOND_FACTOR}/start` };
  if (options.dryRun) return void (await change(request, options));
  if (!options.secretFile && !prompts.possible) throw new FlagRequired('--secret-file');
  const sinkOf = { ...context, quiet: flags.quiet === true };
  const codesFlag = '--recovery-codes-file';
  const sink = await openSecretSink(sinkOf, { secretFile: options.recoveryCodesFile }, 'recoveryCodes', codesFlag);
  let file: ReservedFile | undefined;
  try {
    if (options.secretFile) file = await reserveFile(resolve(terminal.cwd, options.secretFile));
    const started = await withCode(context, options, (code, isPart) =>
      change({ ...request, ...(code !== undefined && { body: { code } }), isPart }, options),
    );
    if (!started) return;
    const secret = plain(started['secret']);
    if (file) await file.commit(`${secret}\n`);
    else await showSecret(context, secret, plain(started['uri']));
    const confirmed = file ? await confirm(context, await codeOf(secret, terminal.now())) : await confirmByApp(context);
    context.run.completedChange = 'enrol your second factor';
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
  // The QR code is printed last, directly above the prompt, so that both fit on a terminal of 24 rows.
  await err.write(
    drawn === undefined
      ? `Enter the secret in an authenticator app:\n\n  ${byHand}\n\n`
      : `Scan the QR code with an authenticator app, or enter the secret by hand:\n\n  ${byHand}\n\n${drawn}`,
  );
}

function confirm({ api }: Context, code: string): Promise<Row> {
  return api.data({ method: 'POST', path: `${SECOND_FACTOR}/confirm`, body: { code } });
}

/** Prompts for a code until the service accepts it. A wrong code changes nothing. */
async function confirmByApp(context: Context): Promise<Row> {
  for (;;) {
    const code = await askCode(context.prompts, 'Code that the authenticator shows now');
    const answer = await confirm(context, code).catch((error: unknown) => {
      if (error instanceof CliError && error.options.fields?.some((field) => field.code === 'code_wrong'))
        return undefined;
      throw error;
    });
    if (answer) return answer;
    await context.print.note('The service refused the code; check the clock of the phone and enter the next code.');
  }
}

interface CodesFlags extends ChangeFlags, CodeFlags {
  recoveryCodesFile?: string;
}

function defineRecoveryCodes(noun: Command, context: ContextOf): void {
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
  ).action((flags: CodesFlags) => runRecoveryCodes(context(), flags));
}

async function runRecoveryCodes(context: Context, options: CodesFlags): Promise<void> {
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

type RemoveFlags = ChangeFlags & PasswordFlags & CodeFlags;

function defineRemove(noun: Command, context: ContextOf): void {
  const command = noun
    .command('remove')
    .description('Remove your second factor. Needs your password and a code, which may be a recovery code.');
  examples(
    changes(codeFlags(passwordFlags(command))),
    'payctl second-factor remove',
    'payctl second-factor remove --password-file alice.password --code-secret-file alice.totp -y',
  ).action((flags: RemoveFlags) => runRemove(context(), flags));
}

async function runRemove(context: Context, flags: RemoveFlags): Promise<void> {
  const { change, print, prompts, terminal } = context;
  const password = await takePassword(terminal, prompts, flags, { message: 'Your own password', isNew: false });
  const code = (await givenCode(terminal, flags)) ?? (await askCode(prompts));
  const path = `${SECOND_FACTOR}/remove`;
  const request = { what: 'remove your second factor', risk: 'moderate' as const, method: 'POST' as const, path };
  const done = await change({ ...request, body: { password, code } }, flags);
  if (!done) return;
  if (print.json) await print.item({ enabled: false }, VIEW);
  await print.done('Your second factor was removed.');
}

/** Adds the subcommands of `payctl second-factor`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Your own second factor: one-time codes of an authenticator app. To reset the second factor of another administrator, use payctl admin reset-second-factor.',
  );
  for (const addVerb of [defineStatus, defineEnable, defineRecoveryCodes, defineRemove]) addVerb(noun, context);
}
