import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { PayWay } from '../server/domain.ts';
import type { ServerInput } from '../server/main.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { readAuthorities } from './files.ts';
import { createTrace } from './http.ts';
import type { Offline, OfflineInput } from '../server/offline/port.ts';
import { type OutputFlags, type Print, createPrint } from './output.ts';
import { type OwnLogin, createOwnLogin, loginCommand } from './own-login.ts';
import { type Prompts, createPrompts } from './prompts.ts';
import { type ChangeFlags, type MakeChange, createGuard } from './safety.ts';
import { type SessionStore, configFolder, openSessions } from './session.ts';
import { type Target, type TargetFlags, caFileOf, chooseTarget, cleanServer, isHttpAllowed } from './settings.ts';
import { type Streams, type Terminal, createTerminal } from './terminal.ts';

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
  readonly known: { target?: Target; done?: string; proof?: ChangeFlags };
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
  /** Whether credentials may go over plain HTTP to this server of another machine. */
  allowsHttp(origin: string): Promise<boolean>;
  /** PEM of the authorities of this server, beside those that Node.js knows. */
  authorities(origin: string): Promise<string | undefined>;
}

/** Gives the context of this run; made at the first call. */
export type ContextOf = () => Context;

/** Builds the parser to describe it: with the commands of the nouns among these words, or with all; it runs nothing. */
export type DescribedTree = (words?: readonly string[]) => Promise<Command>;

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
type RunSimulator = (
  options: {
    dir: string;
    listen: { host: string; port: number };
    roots: Partial<Record<PayWay, { host: string; port: number }>>;
  },
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
  const allowsHttp = async (origin: string): Promise<boolean> =>
    flags.allowHttp === true || isHttpAllowed(await sessions.contexts(), origin);
  const readAuthoritiesOf = async (origin: string): Promise<string | undefined> => {
    if (!origin.startsWith('https:')) return undefined;
    const file = caFileOf(flags, await sessions.contexts(), origin);
    return file === undefined ? undefined : readAuthorities(resolve(terminal.cwd, file));
  };
  const read = new Map<string, Promise<string | undefined>>();
  const authorities = (origin: string): Promise<string | undefined> => {
    const known = read.get(origin) ?? readAuthoritiesOf(origin);
    read.set(origin, known);
    return known;
  };
  const client = (
    server: () => Promise<string>,
    authorize: () => Promise<Record<string, string>>,
    hint: () => Promise<string>,
    login?: Pick<OwnLogin, 'renew' | 'confirm'>,
  ): ApiClient =>
    createApiClient({
      server,
      ...login,
      authorize,
      loginCommand: hint,
      allowsHttp,
      authorities,
      trace,
      timeoutMs: (flags.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
      signal: terminal.signal,
      userAgent: `payctl (node ${process.versions.node})`,
    });
  const serverOfTarget = async (): Promise<string> => (await target()).server;
  const loginHint = async (): Promise<string> => loginCommand(await target());
  const apiAs: Context['apiAs'] = (authorize) => client(serverOfTarget, once(authorize), loginHint);
  const apiAt: Context['apiAt'] = (server) =>
    client(
      async () => cleanServer(server),
      async () => ({}),
      async () => 'check the username and password',
    );
  const print = createPrint(terminal, flags);
  const prompts = overrides.prompts ?? createPrompts(terminal);
  const login = createOwnLogin({ terminal, prompts, sessions, target, apiAs, known });
  const api: ApiClient = client(serverOfTarget, login.headers, loginHint, login);
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

/** Half a second, then twice as long each time, up to fifteen seconds. */
function retryPause(tries: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
}
