import { CliError, UsageError } from './errors.ts';
import type { Prompts } from './prompts.ts';
import { readSecretFile, readSecretStdin } from './secrets.ts';
import type { Terminal } from './terminal.ts';

/** The flags by which a code of the second factor is handed in. */
export interface CodeFlags {
  codeStdin?: boolean;
  codeFile?: string;
  codeSecretFile?: string;
}

const FLAGS = '--code-file or --code-secret-file';

/** The code that was handed in by a flag, if one was. */
export async function givenCode(
  terminal: Terminal,
  { codeStdin, codeFile, codeSecretFile, ...others }: CodeFlags & { passwordStdin?: boolean },
): Promise<string | undefined> {
  if ([codeStdin, codeFile, codeSecretFile].filter(Boolean).length > 1)
    throw new UsageError('--code-stdin, --code-file and --code-secret-file cannot be combined.');
  if (codeStdin && others.passwordStdin)
    throw new UsageError('--code-stdin and --password-stdin cannot be combined.', 'use --password-file');
  if (codeStdin) return readSecretStdin(terminal, '--code-stdin');
  if (codeFile) return readSecretFile(terminal, codeFile);
  if (codeSecretFile) return codeOf(await readSecretFile(terminal, codeSecretFile), terminal.now());
  return undefined;
}

/** Asks for a code of the authenticator, or a recovery code. */
export function askCode(prompts: Prompts, message = 'Code of your authenticator, or a recovery code'): Promise<string> {
  return prompts.text({
    message,
    flag: FLAGS,
    validate: (answer) => answer.trim().length >= 6 || 'Expected the six digits of the authenticator.',
  });
}

/** The code that an authenticator shows at an instant; the secret is in base32, or in an `otpauth://` address. */
export async function codeOf(secret: string, at: Date): Promise<string> {
  const { TOTP, URI } = await import('otpauth');
  try {
    const text = secret.trim();
    const totp = text.startsWith('otpauth:') ? URI.parse(text) : new TOTP({ secret: text.replaceAll(' ', '') });
    if (!(totp instanceof TOTP)) throw new TypeError('counter-based');
    return totp.generate({ timestamp: at.getTime() });
  } catch (cause) {
    throw new CliError('secret_invalid', 2, 'The secret of the authenticator is not valid.', {
      cause,
      hint: 'expected base32, or an otpauth://totp/… address',
    });
  }
}

/**
 * Sends with the code that was handed in, or else without one, and again with one that is asked for when the service wants it.
 * `isAgain`: the user has confirmed the change with the first request.
 */
export async function withCode<T>(
  { terminal, prompts }: { terminal: Terminal; prompts: Prompts },
  flags: CodeFlags,
  send: (code: string | undefined, isAgain: boolean) => Promise<T>,
): Promise<T> {
  const code = await givenCode(terminal, flags);
  return send(code, false).catch(async (error: unknown) => {
    if (code !== undefined || !wantsCode(error)) throw error;
    return send(await askCode(prompts), true);
  });
}

/** Whether a refusal says that the account has a second factor and a code is missing. */
export function wantsCode(error: unknown): error is CliError {
  if (!(error instanceof CliError)) return false;
  return (
    error.code === 'second_factor_required' ||
    Boolean(error.options.fields?.some(({ code }) => code === 'code_required'))
  );
}
