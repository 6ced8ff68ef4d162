import { createApiClient, type ApiClient } from './api-client.ts';
import { CliError, EXIT } from './errors.ts';
import { retryPause } from './retry-pause.ts';
import type { Offline, OfflineInput } from './offline-port.ts';
import { createPrint, type OutputFlags, type Print } from './output.ts';
import { createPrompts, type Prompts } from './prompts.ts';
import { createGuard, type MakeChange } from './safety.ts';
import { askCode, wantsCode } from './second-factor.ts';
import { readSecretFile } from './secrets.ts';
import { configFolder, openSessions, type SessionStore } from './session.ts';
import { chooseTarget, cleanServer, originOf, type Target, type TargetFlags } from './settings.ts';
import { createTerminal, type Streams, type Terminal } from './terminal.ts';
import { createTrace } from './trace.ts';
import type { ServerInput } from '../server/main.ts';

/** The global flags, as the parser gives them. */
export interface GlobalFlags extends TargetFlags, OutputFlags {
  color?: string;
  input?: boolean;
  debug?: boolean;
  timeout?: number;
}

/** What a command works with; every part comes to life when it is first used. */
export interface Context {
  readonly flags: GlobalFlags;
  readonly terminal: Terminal;
  readonly print: Print;
  readonly prompts: Prompts;
  readonly sessions: SessionStore;
  readonly api: ApiClient;
  /** Makes every change: target line, confirmation, --dry-run. */
  readonly change: MakeChange;
  target(): Promise<Target>;
  /** Named by errors: the target, once it is known, and the change that was made. */
  readonly known: { target?: Target; done?: string };
  /** A stand-in for the server's code in tests; otherwise it is loaded when needed. */
  readonly openOffline: ((input: OfflineInput) => Promise<Offline>) | undefined;
  /** A stand-in for the service in tests. */
  readonly startServer: ((input: ServerInput) => Promise<void>) | undefined;
  /** A stand-in for the simulator in tests. */
  readonly runSimulator: RunSimulator | undefined;
  /** How long to wait before a stream that was lost is opened again. */
  readonly retryPause: (tries: number) => number;
  /** The same server with other credentials. */
  apiAs(authorize: () => Promise<Record<string, string>>): ApiClient;
  /** Another address, without credentials. */
  apiAt(server: string): ApiClient;
}

/** Gives the context of this run; made at the first call. */
export type ContextOf = () => Context;

/** What tests put in the place of the real parts. */
export interface Overrides {
  prompts?: Prompts;
  now?: () => Date;
  openOffline?: (input: OfflineInput) => Promise<Offline>;
  startServer?: (input: ServerInput) => Promise<void>;
  runSimulator?: RunSimulator;
  retryPause?: (tries: number) => number;
}

/** Runs the simulator until it is told to stop. */
export type RunSimulator = (
  options: { dir: string; listen: { host: string; port: number } },
  tellReady: (url: string) => void,
) => Promise<void>;

/** How long one call may take by default; longer than the service waits for a channel. */
export const DEFAULT_TIMEOUT_SECONDS = 30;

/** Assembles the parts of one run. */
export function createContext(streams: Streams, flags: GlobalFlags, overrides: Overrides = {}): Context {
  const terminal = { ...createTerminal(streams, flags), ...(overrides.now ? { now: overrides.now } : {}) };
  const sessions = openSessions(configFolder(terminal.env).path);
  const known: Context['known'] = {};
  const target = once(async () => (known.target = chooseTarget(flags, terminal.env, await sessions.contexts())));
  const trace = createTrace(terminal.err, flags.debug === true);
  const client = (
    server: () => Promise<string>,
    authorize: () => Promise<Record<string, string>>,
    login: () => Promise<string>,
    confirmPassword?: (refusal: CliError) => Promise<void>,
  ): ApiClient =>
    createApiClient({
      server,
      ...(confirmPassword ? { confirmPassword } : {}),
      authorize: once(authorize),
      loginCommand: login,
      trace,
      timeoutMs: (flags.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
      signal: terminal.signal,
      userAgent: `payctl (node ${process.versions.node})`,
    });
  const serverOfTarget = async (): Promise<string> => (await target()).server;
  const apiAs: Context['apiAs'] = (authorize) =>
    client(serverOfTarget, authorize, async () => loginCommand(await target()));
  const apiAt: Context['apiAt'] = (server) =>
    client(
      async () => cleanServer(server),
      async () => ({}),
      async () => 'check the username and password',
    );
  const print = createPrint(terminal, flags);
  const prompts = overrides.prompts ?? createPrompts(terminal);
  const api: ApiClient = client(
    serverOfTarget,
    async () => ({ authorization: `Bearer ${await findToken(terminal, sessions, await target())}` }),
    async () => loginCommand(await target()),
    async (refusal) => confirmPassword({ prompts, api, login: loginCommand(await target()) }, refusal),
  );
  const change = createGuard({ terminal, print, prompts, api, target, known });
  return {
    flags,
    terminal,
    print,
    prompts,
    sessions,
    api,
    change,
    target,
    known,
    openOffline: overrides.openOffline,
    startServer: overrides.startServer,
    runSimulator: overrides.runSimulator,
    retryPause: overrides.retryPause ?? retryPause,
    apiAs,
    apiAt,
  };
}

async function confirmPassword(
  { prompts, api, login }: { prompts: Prompts; api: ApiClient; login: string },
  { code, exitCode, message, options }: CliError,
): Promise<void> {
  const hint = `${login}, then repeat the command within five minutes`;
  if (!prompts.possible) throw new CliError(code, exitCode, message, { ...options, hint });
  const password = await prompts.secret({ message: 'Your own password, to confirm this change', flag: login });
  const confirm = (code?: string) =>
    api.call({ method: 'POST', path: '/api/v1/me/confirm', body: { password, ...(code && { code }) } });
  await confirm().catch(async (error: unknown) => {
    if (!wantsCode(error)) throw error;
    await confirm(await askCode(prompts));
  });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** The command that renews the login at a target. */
export function loginCommand(target: Target): string {
  return target.context === null ? `payctl login --server ${target.server}` : `payctl login -C ${target.context}`;
}

/** Where the token for a target comes from; a token is given only to the origin that it belongs to. */
export async function findToken(terminal: Terminal, sessions: SessionStore, target: Target): Promise<string> {
  return (await environmentToken(terminal, target)) ?? (await sessionToken(terminal, sessions, target));
}

async function environmentToken(terminal: Terminal, target: Target): Promise<string | undefined> {
  const { env } = terminal;
  const file = env['PAYCTL_TOKEN_FILE'];
  if (!env['PAYCTL_TOKEN'] && !file) return undefined;
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
  return env['PAYCTL_TOKEN'] || readSecretFile(terminal, file ?? '');
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
