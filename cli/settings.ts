import { resolve } from 'node:path';
import { UsageError } from './errors.ts';
import { own, type Contexts, type Label, type SavedContext } from './session.ts';
import type { Row } from './values.ts';

export interface Target {
  /** Name of the context; null if the server was named directly and no context has this server. */
  context: string | null;
  server: string;
  origin: string;
  label: Label;
  /** Whether payctl guessed the label from the address. */
  isGuess?: true;
  user: string | null;
  sources: { server: string; context: string; label: string; user: string };
}

export interface TargetFlags {
  context?: string;
  server?: string;
  allowHttp?: boolean;
  caFile?: string;
}

export const DEFAULT_SERVER = 'http://127.0.0.1:8080';

type Env = Record<string, string | undefined>;

/** Chooses the server by flag, environment, current context or default. Throws UsageError for an unknown context. */
export function chooseTarget(flags: TargetFlags, env: Env, known: Contexts): Target {
  const target = chooseServerOf(flags, env, known);
  const user = env['PAYCTL_CLIENT_ID'];
  return user ? { ...target, user, sources: { ...target.sources, user: 'PAYCTL_CLIENT_ID' } } : target;
}

function chooseServerOf(flags: TargetFlags, env: Env, known: Contexts): Target {
  const named = chooseContext(flags, env, known);
  const direct = chooseServer(flags, env, named !== undefined && named.source === '--context');
  if (direct) return directTarget(direct, named, known);
  if (named) return contextTarget(named.name, named.saved, `context ${named.name}`, named.source);
  return directTarget({ server: DEFAULT_SERVER, source: 'default' }, undefined, known);
}

interface Named {
  name: string;
  saved: SavedContext;
  source: string;
}

function nameOfContext({ context }: TargetFlags, env: Env, known: Contexts): [string | undefined, string] {
  return firstSet(
    [context, '--context'],
    [env['PAYCTL_CONTEXT'], 'PAYCTL_CONTEXT'],
    [known.current ?? undefined, 'current context'],
  );
}

function chooseContext(flags: TargetFlags, env: Env, known: Contexts): Named | undefined {
  const [name, source] = nameOfContext(flags, env, known);
  if (name === undefined) return undefined;
  const saved = own(known.contexts, name);
  if (saved) return { name, saved, source };
  if (source === 'current context') return undefined;
  throw new UsageError(`Context "${name}" not found.`, 'payctl context list', 'context_unknown');
}

function chooseServer(
  flags: TargetFlags,
  env: Env,
  contextByFlag: boolean,
): { server: string; source: string } | undefined {
  if (flags.server !== undefined) return { server: flags.server, source: '--server' };
  if (contextByFlag || !env['PAYCTL_SERVER']) return undefined;
  return { server: env['PAYCTL_SERVER'], source: 'PAYCTL_SERVER' };
}

function directTarget(
  { server, source }: { server: string; source: string },
  named: Named | undefined,
  known: Contexts,
): Target {
  const origin = originOf(server, source);
  const fits = (saved: SavedContext): boolean => originOf(saved.server, 'context') === origin;
  if (named && fits(named.saved))
    return { ...contextTarget(named.name, named.saved, source, named.source), server: cleanServer(server) };
  if (named?.source === '--context')
    throw new UsageError(`Context "${named.name}" does not point to ${server}.`, 'use either -C or --server');
  // A server may have a login of each kind. Without -C the administrator's counts, whichever was made first.
  const fitting = Object.entries(known.contexts).filter(([, saved]) => fits(saved));
  const match = fitting.find(([, saved]) => saved.clientId === undefined) ?? fitting[0];
  if (match) return contextTarget(match[0], match[1], source, 'same server');
  const label = guessLabel(origin);
  return {
    context: null,
    server: cleanServer(server),
    origin,
    label,
    isGuess: true,
    user: null,
    sources: { server: source, context: 'none', label: 'guessed from the address', user: 'none' },
  };
}

function contextTarget(name: string, saved: SavedContext, serverSource: string, contextSource: string): Target {
  return {
    context: name,
    server: cleanServer(saved.server),
    origin: originOf(saved.server, `context ${name}`),
    label: saved.label,
    ...(saved.isGuess && { isGuess: saved.isGuess }),
    user: saved.clientId ?? saved.user ?? null,
    sources: {
      server: serverSource,
      context: contextSource,
      label: `context ${name}`,
      user: (saved.clientId ?? saved.user) ? `context ${name}` : 'none',
    },
  };
}

function firstSet(
  ...candidates: readonly [value: string | undefined, source: string][]
): [value: string | undefined, source: string] {
  return candidates.find(([value]) => value !== undefined && value !== '') ?? [undefined, 'default'];
}

/**
 * Returns the origin of a server address. Throws unless it is an http or https URL without user name, password, query
 * and fragment.
 */
export function originOf(server: string, source = '--server'): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const good = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!good) {
    const shown = server.replace(/^(\w+:\/\/)?.*@/, '$1…@');
    throw new UsageError(`${source}: "${shown}" is not a valid server URL.`, 'use a URL like https://pay.example.com');
  }
  return url.origin;
}

/** An address without its trailing slash. */
export function cleanServer(server: string): string {
  return server.replace(/\/+$/, '');
}

/** The label of a server that has no saved label: dev on this machine, otherwise prod. */
export function guessLabel(origin: string): Label {
  return isThisMachine(origin) ? 'dev' : 'prod';
}

/**
 * The label that a service reports: as `environment` and `debug` to administrators, as `mode` to applications. Undefined
 * for a service for tests. Without Debug a service may move money, on a local address too.
 */
export function reportedLabel({ environment, debug, mode }: Row): Label | undefined {
  if (environment === 'staging') return 'staging';
  return debug === true || mode === 'test' ? undefined : 'prod';
}

/** Whether an origin is an address of this machine. */
export function isThisMachine(origin: string): boolean {
  const host = new URL(origin).hostname;
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether a connection to the server can be read on the network: plain HTTP to another machine. */
export function isOpenToReaders(origin: string): boolean {
  return origin.startsWith('http:') && !isThisMachine(origin);
}

/** The error for sending a password or token over plain HTTP. */
export function notEncrypted(origin: string): UsageError {
  return new UsageError(
    `${origin} does not use HTTPS; passwords, secrets and tokens would be sent unencrypted.`,
    'use https:// or add --allow-http',
    'not_encrypted',
  );
}

/** The connection flags to save with a context, without those that have no effect, e.g. --allow-http for HTTPS. */
export function savedConnection(
  { allowHttp, caFile }: TargetFlags,
  origin: string,
  cwd: string,
): Pick<SavedContext, 'allowHttp' | 'caFile'> {
  return {
    ...(allowHttp && isOpenToReaders(origin) ? { allowHttp: true } : {}),
    ...(caFile !== undefined && origin.startsWith('https:') ? { caFile: resolve(cwd, caFile) } : {}),
  };
}

/**
 * Returns the file of certificate authorities: the value of --ca-file, otherwise the file of a context with this
 * origin. The selected context is preferred.
 */
export function caFileOf(flags: TargetFlags, env: Env, known: Contexts, origin: string): string | undefined {
  if (flags.caFile !== undefined) return flags.caFile;
  const fits = (saved: SavedContext | undefined): boolean =>
    saved?.caFile !== undefined && originOf(saved.server, 'context') === origin;
  const [name = ''] = nameOfContext(flags, env, known);
  const used = own(known.contexts, name);
  return (fits(used) ? used : Object.values(known.contexts).find(fits))?.caFile;
}

/** Whether a context with this origin was saved with --allow-http. */
export function isHttpAllowed(known: Contexts, origin: string): boolean {
  return Object.values(known.contexts).some(
    (saved) => saved.allowHttp === true && originOf(saved.server, 'context') === origin,
  );
}
