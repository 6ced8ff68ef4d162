import type { ApiClient, RefusedToken } from './api-client.ts';
import { CliError, EXIT, UsageError } from './errors.ts';
import type { Prompts } from './prompts.ts';
import type { ChangeFlags } from './safety.ts';
import { readSecretFile, readSecretStdin } from './secrets.ts';
import type { Session, SessionStore } from './session.ts';
import { type Target, originOf } from './settings.ts';
import type { Terminal } from './terminal.ts';
import { type Row, plain } from './values.ts';

export interface CodeFlags {
  codeStdin?: boolean;
  codeFile?: string;
  codeSecretFile?: string;
}

const CODE_FLAGS = '--code-file or --code-secret-file';

/** Reads the one-time code from the flags; undefined if no flag gives a code. */
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

/** Prompts for a one-time code or a recovery code. */
export function askCode(prompts: Prompts, message = 'Code of your authenticator, or a recovery code'): Promise<string> {
  return prompts.text({
    message,
    flag: CODE_FLAGS,
    validate: (answer) => answer.trim().length >= 6 || 'Expected the six digits of the authenticator.',
  });
}

/** Computes the one-time code for a time. The secret is base32 or an `otpauth://` address. */
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
 * Sends a request with the one-time code from the flags. If there is none and the service requires a code, prompts for
 * it and sends again with `isAgain` = true, so that the operator need not confirm the change twice.
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

/** Whether the service refused the request because the one-time code is missing. */
export function wantsCode(error: unknown): error is CliError {
  if (!(error instanceof CliError)) return false;
  return (
    error.code === 'second_factor_required' ||
    Boolean(error.options.fields?.some(({ code }) => code === 'code_required'))
  );
}

export interface OwnLogin {
  headers(): Promise<Record<string, string>>;
  /** Loads a token that another payctl process saved. Returns false if the saved token is the refused one. */
  renew(refused: RefusedToken): Promise<boolean>;
  /**
   * Confirms a change with the operator's password. The caller repeats the request and then runs the returned function,
   * which ends a session that was opened only for the confirmation.
   */
  confirm(refusal: CliError): Promise<() => Promise<void>>;
}

interface Parts {
  terminal: Terminal;
  prompts: Prompts;
  sessions: SessionStore;
  target(): Promise<Target>;
  apiAs(authorize: () => Promise<Record<string, string>>): ApiClient;
  run: { changeFlags?: ChangeFlags };
}

/** Creates the functions of OwnLogin. The session file is read at the first request. */
export function createOwnLogin(parts: Parts): OwnLogin {
  const { terminal, prompts, sessions, target, apiAs } = parts;
  let token: string | undefined;
  const find = async (): Promise<string> => findToken(terminal, sessions, await target());
  const headers = async () => ({ authorization: `Bearer ${(token ??= await find())}` });
  return {
    headers,
    async renew({ authorization }) {
      const saved = await find().catch(() => undefined);
      if (saved === undefined || `Bearer ${saved}` === authorization) return false;
      token = saved;
      return true;
    },
    async confirm({ code, exitCode, message, options }) {
      const place = await target();
      const { changeFlags = {} } = parts.run;
      const file = changeFlags.ownPasswordFile ?? changeFlags.passwordFile;
      const flag = changeFlags.passwordFlag ?? '--password-file';
      const hint = `${loginCommand(place)}\nThen repeat the command within five minutes; or repeat it now with ${flag} FILE.`;
      if (!file && !prompts.possible) throw new CliError(code, exitCode, message, { ...options, hint });
      const password = file
        ? await readSecretFile(terminal, file)
        : await prompts.secret({ message: 'Your own password, to confirm this change', flag });
      const api = apiAs(headers);
      const before = token;
      const session =
        place.context === null || hasOwnToken(terminal.env) ? undefined : await sessions.session(place.context);
      if (place.context !== null && session) {
        await sessions.prove();
        const confirmed = await withCode(parts, changeFlags, (given) =>
          api.data({ method: 'POST', path: '/api/v1/me/confirm', body: { password, ...(given && { code: given }) } }),
        );
        token = plain(confirmed['token']);
        await keepSession(parts, place.context, renewed(session, confirmed, terminal.now()));
        return async () => {};
      }
      // A token from the environment has no session file, so payctl confirms with a new session and then logs out.
      const { username } = await api.get('/api/v1/me');
      const begun = await withCode(parts, changeFlags, (given) =>
        apiAs(async () => ({})).data({
          method: 'POST',
          path: '/api/v1/login',
          body: { username, password, ...(given && { code: given }) },
          anonymous: true,
        }),
      );
      token = plain(begun['token']);
      return async () => {
        // A failed logout is ignored, because the result of the change is known.
        await apiAs(headers)
          .call({ method: 'POST', path: '/api/v1/logout' })
          .catch(() => {});
        token = before;
      };
    },
  };
}

function renewed(session: Session, { token, expiresIn }: Row, now: Date): Session {
  return {
    ...session,
    token: plain(token),
    expiresAt: new Date(now.getTime() + Number(expiresIn) * 1000).toISOString(),
  };
}

/** If the session cannot be saved, payctl logs out, so that no unused session stays valid. */
async function keepSession({ sessions, apiAs }: Parts, context: string, session: Session): Promise<void> {
  await sessions.saveSession(context, session).catch(async (error: unknown) => {
    const api = apiAs(async () => ({ authorization: `Bearer ${session.token}` }));
    await api.call({ method: 'POST', path: '/api/v1/logout' }).catch(() => {});
    throw error;
  });
}

/** Returns the `payctl login` command line that logs in to this server, for hints to the operator. */
export function loginCommand(target: Target): string {
  return target.context === null ? `payctl login --server ${target.server}` : `payctl login -C ${target.context}`;
}

/** Finds the token for a server. payctl sends a token only to the origin that the token belongs to. */
export async function findToken(terminal: Terminal, sessions: SessionStore, target: Target): Promise<string> {
  return (await environmentToken(terminal, target)) ?? (await sessionToken(terminal, sessions, target));
}

/** Whether the environment has an administrator's token. */
export function hasOwnToken(env: Terminal['env']): boolean {
  return Boolean(env['PAYCTL_TOKEN'] || env['PAYCTL_TOKEN_FILE']);
}

async function environmentToken(terminal: Terminal, target: Target): Promise<string | undefined> {
  const { env } = terminal;
  if (!hasOwnToken(env)) return undefined;
  const server = env['PAYCTL_SERVER'];
  if (!server)
    throw new CliError(
      'token_without_server',
      EXIT.usage,
      'PAYCTL_TOKEN requires PAYCTL_SERVER: a token is sent only to the server that issued it.',
      { hint: 'set PAYCTL_SERVER' },
    );
  if (originOf(server, 'PAYCTL_SERVER') !== target.origin) {
    throw new CliError(
      'token_of_another_server',
      EXIT.notLoggedIn,
      `PAYCTL_TOKEN belongs to ${server} and is not sent to ${target.origin}.`,
      { hint: 'unset PAYCTL_TOKEN, or select the server that the token belongs to' },
    );
  }
  return env['PAYCTL_TOKEN'] || readSecretFile(terminal, env['PAYCTL_TOKEN_FILE'] ?? '');
}

async function sessionToken(terminal: Terminal, sessions: SessionStore, target: Target): Promise<string> {
  const hint = loginCommand(target);
  const session = target.context === null ? undefined : await sessions.session(target.context);
  if (!session) throw new CliError('not_logged_in', EXIT.notLoggedIn, `Not logged in to ${target.origin}.`, { hint });
  if (session.origin !== target.origin) {
    throw new CliError(
      'token_of_another_server',
      EXIT.notLoggedIn,
      `The saved login belongs to ${session.origin} and is not sent to ${target.origin}.`,
      { hint },
    );
  }
  if (new Date(session.expiresAt) <= terminal.now())
    throw new CliError('login_expired', EXIT.notLoggedIn, `The login to ${target.origin} has expired.`, { hint });
  return session.token;
}
