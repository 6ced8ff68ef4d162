import type { ApiClient } from './api-client.ts';
import { CliError, EXIT } from './errors.ts';
import type { Prompts } from './prompts.ts';
import type { ChangeFlags } from './safety.ts';
import { withCode } from './second-factor.ts';
import { readSecretFile } from './secrets.ts';
import type { Session, SessionStore } from './session.ts';
import { originOf, type Target } from './settings.ts';
import type { Terminal } from './terminal.ts';
import { type Row, plain } from './values.ts';

/** The administrator login that a run of payctl uses. */
export interface OwnLogin {
  headers(): Promise<Record<string, string>>;
  /** Takes the token that another run has saved since; false when there is no other. */
  renew(): Promise<boolean>;
  /** Gives the own password again, after a refusal; the caller runs the returned function when it has repeated the request. */
  confirm(refusal: CliError): Promise<() => Promise<void>>;
}

interface Parts {
  terminal: Terminal;
  prompts: Prompts;
  sessions: SessionStore;
  target(): Promise<Target>;
  apiAs(authorize: () => Promise<Record<string, string>>): ApiClient;
  /** The flags of the change that is under way. */
  known: { proof?: ChangeFlags };
}

/** Makes the login; nothing is read before it is needed. */
export function createOwnLogin(parts: Parts): OwnLogin {
  const { terminal, prompts, sessions, target, apiAs } = parts;
  let token: string | undefined;
  const find = async (): Promise<string> => findToken(terminal, sessions, await target());
  const headers = async () => ({ authorization: `Bearer ${(token ??= await find())}` });
  return {
    headers,
    async renew() {
      const saved = await find().catch(() => undefined);
      if (saved === undefined || saved === token) return false;
      token = saved;
      return true;
    },
    async confirm({ code, exitCode, message, options }) {
      const place = await target();
      const { proof = {} } = parts.known;
      const file = proof.ownPasswordFile ?? proof.passwordFile;
      const flag = proof.proofFlag ?? '--password-file';
      const hint = `repeat the command with ${flag} F; or ${loginCommand(place)}, then repeat it within five minutes`;
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
        const confirmed = await withCode(parts, proof, (given) =>
          api.data({ method: 'POST', path: '/api/v1/me/confirm', body: { password, ...(given && { code: given }) } }),
        );
        token = plain(confirmed['token']);
        await keep(parts, place.context, renewed(session, confirmed, terminal.now()));
        return async () => {};
      }
      // A token of the environment has no place where another could be kept: a session beside it ends with this request.
      const { username } = await api.get('/api/v1/me');
      const begun = await withCode(parts, proof, (given) =>
        apiAs(async () => ({})).data({
          method: 'POST',
          path: '/api/v1/login',
          body: { username, password, ...(given && { code: given }) },
          anonymous: true,
        }),
      );
      token = plain(begun['token']);
      return async () => {
        // The change was made or refused: a session that cannot be ended says nothing about it.
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

/** Saves the session that a confirmation began; one that no file has would live on unused, and ends. */
async function keep({ sessions, apiAs }: Parts, context: string, session: Session): Promise<void> {
  await sessions.saveSession(context, session).catch(async (error: unknown) => {
    const api = apiAs(async () => ({ authorization: `Bearer ${session.token}` }));
    await api.call({ method: 'POST', path: '/api/v1/logout' }).catch(() => {});
    throw error;
  });
}

/** The command that renews the login at a target. */
export function loginCommand(target: Target): string {
  return target.context === null ? `payctl login --server ${target.server}` : `payctl login -C ${target.context}`;
}

/** Where the token for a target comes from; a token is given only to the origin that it belongs to. */
export async function findToken(terminal: Terminal, sessions: SessionStore, target: Target): Promise<string> {
  return (await environmentToken(terminal, target)) ?? (await sessionToken(terminal, sessions, target));
}

function hasOwnToken(env: Terminal['env']): boolean {
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
      { hint: 'unset PAYCTL_TOKEN or select that server' },
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
