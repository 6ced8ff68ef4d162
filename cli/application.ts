import { createApiClient, type ApiClient, type ClientSetup, type RefusedToken } from './api-client.ts';
import { CliError, EXIT, UsageError } from './errors.ts';
import { hasOwnToken, loginCommand } from './own-login.ts';
import { readClientFile, readSecretText } from './secrets.ts';
import type { Contexts, Session, SessionStore } from './session.ts';
import { type Target, originOf } from './settings.ts';
import type { Terminal } from './terminal.ts';

/** The secret itself is never a flag. */
export interface CredentialFlags {
  clientId?: string;
  clientSecretFile?: string;
}

export interface Credentials {
  clientId: string;
  secret: string;
}

/** Reads the client id and the secret from flags, environment and files. Throws UsageError if one is missing. */
export async function readCredentials(terminal: Terminal, flags: CredentialFlags): Promise<Credentials> {
  const { env } = terminal;
  const named = flags.clientId ?? env['PAYCTL_CLIENT_ID'];
  const file = flags.clientSecretFile ?? env['PAYCTL_CLIENT_SECRET_FILE'];
  const direct = env['PAYCTL_CLIENT_SECRET'];
  const inFile = file ? await readClientFile(terminal, file, named || undefined) : undefined;
  const clientId = named || inFile?.clientId;
  if (!clientId) throw new UsageError('An API application is required.', 'set PAYCTL_CLIENT_ID or add --client-id ID');
  if (inFile) return { clientId, secret: inFile.secret };
  if (direct) return { clientId, secret: readSecretText(direct, 'PAYCTL_CLIENT_SECRET') };
  throw new UsageError(
    'The secret of the application is required.',
    'set PAYCTL_CLIENT_SECRET or PAYCTL_CLIENT_SECRET_FILE, or add --client-secret-file FILE',
  );
}

/** An access token of an application. */
export interface Granted {
  token: string;
  expiresAt: Date;
}

/** Requests an access token. `api` needs no login of its own. Throws a CliError for wrong credentials (exit code 4). */
export async function grantToken(api: ApiClient, { clientId, secret }: Credentials, now: Date): Promise<Granted> {
  const body = await api.data({
    method: 'POST',
    path: '/oauth/token',
    headers: { authorization: `Basic ${basicOf({ clientId, secret })}` },
    raw: { type: 'application/x-www-form-urlencoded', content: 'grant_type=client_credentials' },
    anonymous: true,
  });
  const { access_token: token, expires_in: seconds } = body;
  if (typeof token !== 'string' || token === '')
    throw new CliError('token_missing', EXIT.failed, 'The server sent no access token.', { hint: 'check --server' });
  return { token, expiresAt: new Date(now.getTime() + (typeof seconds === 'number' ? seconds : 60) * 1000) };
}

/** Revokes an access token. The token itself is sufficient, so that it works after a rotation of the secret, too. */
export async function revokeToken(api: ApiClient, token: string): Promise<void> {
  await api.call({ method: 'POST', path: '/oauth/revoke', body: { token }, anonymous: true });
}

function basicOf({ clientId, secret }: Credentials): string {
  return Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString('base64');
}

/** The login of an application. Its token is requested at the first use and renewed before it expires. */
export interface ApplicationLogin {
  headers(): Promise<Record<string, string>>;
  /** Drops a refused token. Returns false if another token would be refused as well. */
  renew(refused: RefusedToken): Promise<boolean>;
  /** The secret and the tokens, so that output can be redacted. */
  secrets(): readonly string[];
}

/** The token of an earlier run, and where a new one is stored for the next run. */
interface KeptToken extends Granted {
  keep(granted: Granted): Promise<void>;
}

/** A token is renewed this long before its expiry. A token that is valid for less than a minute is renewed halfway. */
const BEFORE_END_MS = 30_000;

/** Creates the login of an application. `api` requests the tokens. */
export function createApplicationLogin(
  api: ApiClient,
  credentials: Credentials,
  now: () => Date,
  kept?: KeptToken,
): ApplicationLogin {
  interface Held extends Granted {
    until: number;
    isNew: boolean;
  }
  const hold = (granted: Granted, isNew: boolean): Held => {
    const end = granted.expiresAt.getTime();
    const lives = end - now().getTime();
    return { ...granted, isNew, until: end - (isNew ? Math.min(BEFORE_END_MS, lives / 2) : BEFORE_END_MS) };
  };
  const tokens: string[] = [];
  let held = kept && kept.expiresAt > now() ? Promise.resolve(hold(kept, false)) : undefined;

  const ask = async (): Promise<Held> => {
    const granted = await grantToken(api, credentials, now());
    tokens.unshift(granted.token);
    tokens.splice(3);
    // Without a stored token, the next run only requests another one.
    await kept?.keep(granted).catch(() => {});
    return hold(granted, true);
  };
  const fresh = (): Promise<Held> => {
    const asked = ask();
    held = asked;
    asked.catch(() => {
      if (held === asked) held = undefined;
    });
    return asked;
  };
  const headerOf = ({ token }: Granted): string => `Bearer ${token}`;
  return {
    async headers() {
      const seen = held;
      const known = await seen;
      if (known && known.until > now().getTime()) return { authorization: headerOf(known) };
      // A request that runs at the same time may have asked for the next token already.
      return { authorization: headerOf(await (held && held !== seen ? held : fresh())) };
    },
    async renew({ status, authorization }) {
      // The request for a token was refused, not a request with a token.
      if (authorization === undefined) return false;
      const seen = held;
      const known = await seen?.catch(() => undefined);
      // A request that runs at the same time has dropped the refused token.
      if (!known || headerOf(known) !== authorization) return true;
      // A scope that was granted later is only in a later token.
      if (status !== 401 && known.isNew) return false;
      if (held === seen) held = undefined;
      return true;
    },
    secrets: () => [credentials.secret, encodeURIComponent(credentials.secret), basicOf(credentials), ...tokens],
  };
}

/** A client for one application. `secrets` returns its secret and tokens, so that tool results can be redacted. */
export interface ApplicationClient {
  api: ApiClient;
  secrets(): readonly string[];
}

export const CHECK_CREDENTIALS = 'check the client id and the secret of the application';

/** Creates an API client that renews its token before expiry. After a 401, it repeats the request with a new token. */
export function createApplicationClient(
  setup: Omit<ClientSetup, 'authorize' | 'loginCommand' | 'renew'>,
  credentials: Credentials,
  now: () => Date,
): ApplicationClient {
  const common = {
    ...setup,
    loginCommand: async () => CHECK_CREDENTIALS,
    clientId: async () => credentials.clientId,
  };
  const { headers, renew, secrets } = createApplicationLogin(
    createApiClient({ ...common, authorize: async () => ({}) }),
    credentials,
    now,
  );
  return { secrets, api: createApiClient({ ...common, authorize: headers, renew }) };
}

/** The application as which commands act. */
export interface ActingApplication {
  clientId: string;
  /** `environment`: PAYCTL_CLIENT_ID; otherwise the login that the context stores. */
  source: 'environment' | 'context';
  credentials(): Promise<Credentials>;
  /** The name of an administrator with a context for the same server, if there is one. */
  administrator: string | undefined;
  /** The stored login; undefined for credentials of the environment. */
  session?: Session & Required<Pick<Session, 'app'>>;
}

/**
 * Finds out whether commands act as an application: environment before context. Undefined = as an administrator. A
 * secret is used only with a server that was named together with it, as a token is.
 */
export async function findApplication(
  terminal: Terminal,
  sessions: SessionStore,
  target: () => Promise<Target>,
): Promise<ActingApplication | undefined> {
  const { env } = terminal;
  const clientId = env['PAYCTL_CLIENT_ID'];
  if (clientId && hasOwnToken(env))
    throw new UsageError(
      'PAYCTL_CLIENT_ID and PAYCTL_TOKEN cannot be combined: one is an application, the other an administrator.',
      'unset one of them',
      'credentials_mixed',
    );
  if (hasOwnToken(env)) return undefined;
  const place = await target();
  if (clientId) {
    requireNamedServer(env['PAYCTL_SERVER'], place);
    const administrator = administratorAt(place, await sessions.contexts());
    return { clientId, source: 'environment', administrator, credentials: () => readCredentials(terminal, {}) };
  }
  const session = place.context === null ? undefined : await sessions.session(place.context);
  if (!session?.app) return undefined;
  const { app } = session;
  return {
    clientId: app.clientId,
    source: 'context',
    administrator: administratorAt(place, await sessions.contexts()),
    session: { ...session, app },
    async credentials() {
      if (session.origin === place.origin) return app;
      throw new CliError(
        'token_of_another_server',
        EXIT.notLoggedIn,
        `The saved login belongs to ${session.origin} and is not sent to ${place.origin}.`,
        { hint: loginCommand(place) },
      );
    },
  };
}

function administratorAt({ origin }: Target, { contexts }: Contexts): string | undefined {
  return Object.values(contexts).find(
    ({ server, user, clientId }) =>
      user !== undefined && clientId === undefined && originOf(server, 'context') === origin,
  )?.user;
}

/** Throws UsageError if a secret of the environment would be sent to a server that was not named together with it. */
export function requireNamedServer(named: string | undefined, { origin, sources }: Target): void {
  const isNamed = named ? originOf(named, 'PAYCTL_SERVER') === origin : /^(--server|default)$/.test(sources.server);
  if (isNamed) return;
  throw new UsageError(
    named
      ? `PAYCTL_CLIENT_ID belongs to ${named}; its secret is not sent to ${origin}.`
      : 'PAYCTL_CLIENT_ID requires PAYCTL_SERVER or --server: a secret is sent only to the server that it belongs to.',
    named ? 'unset PAYCTL_CLIENT_ID, or select the server that it belongs to' : 'set PAYCTL_SERVER',
    named ? 'secret_of_another_server' : 'secret_without_server',
  );
}

/** The error for a command or flag that no application can use (exit code 5). Thrown before any request. */
export function administratorNeeded(
  { source, administrator }: Pick<ActingApplication, 'source' | 'administrator'>,
  what = 'this command',
): CliError {
  const unset = source === 'environment' ? 'unset PAYCTL_CLIENT_ID && ' : '';
  const named = administrator === undefined ? '' : ` -u ${administrator}`;
  return new CliError('administrator_needed', EXIT.forbidden, `${what} needs an administrator's login`, {
    hint: `${unset}payctl login${named}\nWith the account of an administrator. A merchant without one asks an administrator of the service.`,
  });
}
