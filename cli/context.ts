import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { PayWay } from '../server/domain.ts';
import type { ServerInput } from '../server/main.ts';
import { type ApiClient, type ClientSetup, createApiClient } from './api-client.ts';
import {
  CHECK_CREDENTIALS,
  type ActingApplication,
  type ApplicationClient,
  type Credentials,
  type Granted,
  createApplicationClient,
  createApplicationLogin,
  findApplication,
} from './application.ts';
import { readAuthorities, readTextFile } from './files.ts';
import { createTrace } from './http.ts';
import { INSTALLATION, type Installation, installationOf } from './installation.ts';
import type { Language } from './language.ts';
import type { Offline, OfflineInput } from '../server/offline/port.ts';
import { type OutputFlags, type Print, createPrint } from './output.ts';
import { createOwnLogin, loginCommand } from './own-login.ts';
import { type Prompts, createPrompts } from './prompts.ts';
import { type ChangeFlags, type MakeChange, createGuard } from './safety.ts';
import { type Label, type SessionStore, configFolder, openSessions } from './session.ts';
import {
  type Target,
  type TargetFlags,
  caFileOf,
  chooseTarget,
  cleanServer,
  isHttpAllowed,
  reportedLabel,
} from './settings.ts';
import { type Streams, type Terminal, createTerminal } from './terminal.ts';

export interface GlobalFlags extends TargetFlags, OutputFlags {
  color?: string;
  /** The flag --lang; `language` is what the command speaks. */
  lang?: Language;
  input?: boolean;
  debug?: boolean;
  timeout?: number;
}

/** The objects that a command uses. Each object is created at its first use. */
export interface Context {
  readonly flags: GlobalFlags;
  readonly terminal: Terminal;
  readonly print: Print;
  readonly prompts: Prompts;
  readonly sessions: SessionStore;
  readonly api: ApiClient;
  /** Makes every change of data: prints the server, asks for confirmation, handles --dry-run, sends the request. */
  readonly change: MakeChange;
  target(): Promise<Target>;
  /** The label of the target. Before a guess counts as dev, the service is asked, with `as` as an application. */
  label(as?: ApiClient): Promise<Label>;
  /** The application as which commands act; undefined for an administrator. */
  application(): Promise<ActingApplication | undefined>;
  /** Facts for error messages: the server, the last completed change, and the flags of the change in progress. */
  readonly run: { target?: Target; completedChange?: string; changeFlags?: ChangeFlags };
  /** `openOffline`, `startServer` and `runSimulator` replace the server's code in tests; undefined otherwise. */
  readonly openOffline: ((input: OfflineInput) => Promise<Offline>) | undefined;
  readonly startServer: ((input: ServerInput) => Promise<void>) | undefined;
  readonly runSimulator: RunSimulator | undefined;
  /** The words of this run's command line. */
  readonly argv: readonly string[];
  /** Where a service that is installed on this machine has its files. */
  readonly installation: Installation;
  /** The mounted file systems, in the format of `/proc/mounts`; empty on a system without this file. */
  readonly readMounts: () => Promise<string>;
  /** Milliseconds before the next attempt to open a stream, by the number of failed attempts. */
  readonly retryPause: (tries: number) => number;
  /** Creates a client that sends the headers from `authorize` instead of the saved token. */
  apiAs(authorize: () => Promise<Record<string, string>>): ApiClient;
  /** Creates a client that acts as an application. `more` replaces what the other clients of this run have. */
  apiOf(credentials: Credentials, more?: Partial<Pick<ClientSetup, 'signal' | 'userAgent'>>): ApplicationClient;
  /** Creates a client for another server. The client sends no token. `hint` is the advice after a 401. */
  apiAt(server: string, hint?: string): ApiClient;
  /** Whether tokens and passwords may be sent over plain HTTP. Called only for a server on another machine. */
  allowsHttp(origin: string): Promise<boolean>;
  /** PEM of the additional certificate authorities for this server; undefined if there are none. */
  authorities(origin: string): Promise<string | undefined>;
}

/** Returns the context of this run, created at the first call. */
export type ContextOf = () => Context;

/** Builds the command tree. With `words`, only the commands named in `words` have subcommands and flags. */
export type DescribedTree = (words?: readonly string[]) => Promise<Command>;

export interface Overrides {
  prompts?: Prompts;
  now?: () => Date;
  openOffline?: (input: OfflineInput) => Promise<Offline>;
  startServer?: (input: ServerInput) => Promise<void>;
  runSimulator?: RunSimulator;
  readMounts?: () => Promise<string>;
  installation?: Installation;
  retryPause?: (tries: number) => number;
}

type RunSimulator = (
  options: {
    dir: string;
    listen: { host: string; port: number };
    roots: Partial<Record<PayWay, { host: string; port: number }>>;
  },
  onReady: (url: string) => void,
) => Promise<void>;

/** Longer than the timeout of the service's requests to a payment channel. */
export const DEFAULT_TIMEOUT_SECONDS = 30;

/** Creates the context of one run from the streams and the global flags. */
export function createContext(
  streams: Streams,
  flags: GlobalFlags,
  overrides: Overrides = {},
  argv: readonly string[] = [],
): Context {
  const terminal = { ...createTerminal(streams, flags), ...(overrides.now ? { now: overrides.now } : {}) };
  const sessions = openSessions(configFolder(terminal.env).path);
  const run: Context['run'] = {};
  const target = once(async () => (run.target = chooseTarget(flags, terminal.env, await sessions.contexts())));
  const print = createPrint(terminal, flags);
  const trace = createTrace(terminal.err, flags.debug === true);
  const allowsHttp = async (origin: string): Promise<boolean> =>
    flags.allowHttp === true || isHttpAllowed(await sessions.contexts(), origin);
  const readAuthoritiesOf = async (origin: string): Promise<string | undefined> => {
    if (!origin.startsWith('https:')) return undefined;
    const file = caFileOf(flags, terminal.env, await sessions.contexts(), origin);
    return file === undefined ? undefined : readAuthorities(resolve(terminal.cwd, file));
  };
  const read = new Map<string, Promise<string | undefined>>();
  const authorities = (origin: string): Promise<string | undefined> => {
    const known = read.get(origin) ?? readAuthoritiesOf(origin);
    read.set(origin, known);
    return known;
  };
  const connection = {
    allowsHttp,
    authorities,
    trace,
    timeoutMs: (flags.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    signal: terminal.signal,
    userAgent: `payctl (node ${process.versions.node})`,
    ...(print.language === 'en' ? {} : { language: print.language }),
  };
  const client = (
    server: () => Promise<string>,
    authorize: () => Promise<Record<string, string>>,
    hint: () => Promise<string>,
    login?: Pick<ClientSetup, 'renew' | 'confirm' | 'clientId'>,
  ): ApiClient => createApiClient({ server, ...login, authorize, loginCommand: hint, ...connection });
  const serverOfTarget = async (): Promise<string> => (await target()).server;
  const loginHint = async (): Promise<string> => loginCommand(await target());
  const apiAs: Context['apiAs'] = (authorize) => client(serverOfTarget, once(authorize), loginHint);
  const apiAt: Context['apiAt'] = (server, hint = 'check the username and password') =>
    client(
      async () => cleanServer(server),
      async () => ({}),
      async () => hint,
    );
  const prompts = overrides.prompts ?? createPrompts(terminal);
  const application = once(() => findApplication(terminal, sessions, target));
  const checkHint = async (): Promise<string> => CHECK_CREDENTIALS;
  const tokens = (hint: () => Promise<string>): ApiClient => client(serverOfTarget, async () => ({}), hint);
  const apiOf: Context['apiOf'] = (credentials, more) =>
    createApplicationClient({ server: serverOfTarget, ...connection, ...more }, credentials, terminal.now);
  const admin = createOwnLogin({ terminal, prompts, sessions, target, apiAs, run });
  const login = once(async () => {
    const acting = await application();
    if (!acting) return admin;
    const { context: name } = await target();
    const { session } = acting;
    const kept = session &&
      name !== null && {
        token: session.token,
        expiresAt: new Date(session.expiresAt),
        keep: ({ token, expiresAt }: Granted) =>
          sessions.saveToken(name, session, { token, expiresAt: expiresAt.toISOString() }),
      };
    const api = tokens(session ? loginHint : checkHint);
    return createApplicationLogin(api, await acting.credentials(), terminal.now, kept || undefined);
  });
  // A login that cannot be read must not replace the error for which the hint is.
  const hint = async (): Promise<string> =>
    (await application().catch(() => undefined))?.source === 'environment' ? CHECK_CREDENTIALS : loginHint();
  const api: ApiClient = client(serverOfTarget, async () => (await login()).headers(), hint, {
    renew: async (refused) => (await login()).renew(refused),
    confirm: admin.confirm,
    clientId: async () => (await application().catch(() => undefined))?.clientId,
  });
  const label: Context['label'] = async (as) => {
    const place = await target();
    if (!place.isGuess || place.label !== 'dev') return place.label;
    const isApplication = as !== undefined || (await application()) !== undefined;
    const said = await (as ?? api).get(isApplication ? '/api/v2/me' : '/api/v1/info').catch(() => ({}));
    place.label = reportedLabel(said) ?? 'dev';
    return place.label;
  };
  const change = createGuard({ terminal, print, prompts, api, target, run });
  return {
    flags,
    terminal,
    print,
    prompts,
    sessions,
    api,
    change,
    target,
    label,
    application,
    run,
    openOffline: overrides.openOffline,
    startServer: overrides.startServer,
    runSimulator: overrides.runSimulator,
    argv,
    installation: installationOf(overrides.installation ?? INSTALLATION, { ...streams, argv }),
    readMounts: overrides.readMounts ?? (() => readTextFile('/proc/mounts').catch(() => '')),
    retryPause: overrides.retryPause ?? retryPause,
    apiAs,
    apiOf,
    apiAt,
    allowsHttp,
    authorities,
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

function retryPause(tries: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
}
