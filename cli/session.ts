import { homedir } from 'node:os';
import { join } from 'node:path';
import { CliError, EXIT } from './errors.ts';
import {
  OPEN_TO_OTHERS,
  WRITABLE_BY_OTHERS,
  ensurePrivateFolder,
  proveRoom,
  readPrivate,
  refuseSharedFolder,
  replaceFile,
  withLock,
} from './files.ts';

/** payctl prints the label of a server before each change. The label `prod` is printed in red. */
export const LABELS = ['dev', 'staging', 'prod'] as const;
export type Label = (typeof LABELS)[number];

export interface SavedContext {
  server: string;
  label: Label;
  /**
   * Whether payctl guessed the label from the address. A login then replaces it by the label that the service reports.
   */
  isGuess?: true;
  user?: string;
  /** The application that logged in last; absent for an administrator. */
  clientId?: string;
  /** Whether tokens and passwords may be sent over plain HTTP. Has an effect only for a server on another machine. */
  allowHttp?: boolean;
  /** File with the certificate authorities that sign the server's certificate. */
  caFile?: string;
}

/** The content of `contexts.json`. `current` is null before the first context exists. */
export interface Contexts {
  current: string | null;
  contexts: Record<string, SavedContext>;
}

/** A login: the token, and the only origin to which payctl sends the token. */
export interface Session {
  origin: string;
  username: string;
  role?: string;
  /**
   * Whether the login used a second factor. If so, the next login prompts for the one-time code before its first
   * request.
   */
  secondFactor?: boolean;
  token: string;
  expiresAt: string;
  /** Set for the login of an application: the credentials with which payctl renews the token. */
  app?: { clientId: string; secret: string };
}

/**
 * The newest hash of the audit log that payctl verified. payctl stores it outside the database, so that it notices when
 * audit log entries are removed later.
 */
export interface KeptTip {
  tip: string;
  lines: number;
  /** Time at which payctl requested the hash, in ISO 8601. */
  at: string;
}

/** The folder of payctl's files: PAYCTL_CONFIG_DIR, else XDG_CONFIG_HOME/payctl, else ~/.config/payctl. */
export function configFolder(env: Record<string, string | undefined>): { path: string; source: string } {
  if (env['PAYCTL_CONFIG_DIR']) return { path: env['PAYCTL_CONFIG_DIR'], source: 'PAYCTL_CONFIG_DIR' };
  if (env['XDG_CONFIG_HOME']) return { path: join(env['XDG_CONFIG_HOME'], 'payctl'), source: 'XDG_CONFIG_HOME' };
  return { path: join(env['HOME'] ?? homedir(), '.config', 'payctl'), source: 'default' };
}

/**
 * Stores contexts and logins in private files (0600 in a 0700 folder). Files that other users can access are refused.
 * Changes are atomic, and one process at a time makes them.
 */
export interface SessionStore {
  readonly folder: string;
  contexts(): Promise<Contexts>;
  changeContexts(change: (contexts: Contexts) => void): Promise<void>;
  session(context: string): Promise<Session | undefined>;
  /** Checks before a login that the session can be saved. */
  prove(): Promise<void>;
  saveSession(context: string, session: Session): Promise<void>;
  /**
   * Stores the new token of an application. Changes nothing if the login that this process read was ended or replaced
   * meanwhile.
   */
  saveToken(context: string, login: Session, renewed: Pick<Session, 'token' | 'expiresAt'>): Promise<void>;
  /** The newest audit log hash at the last successful verification of this server; undefined before the first one. */
  auditTip(server: string): Promise<KeptTip | undefined>;
  keepAuditTip(server: string, tip: KeptTip): Promise<void>;
  /**
   * The secret with which `event listen` signs, by server and application. The first time, and if `isNew` is true, the
   * secret that `make` returns is stored.
   */
  listenSecret(key: string, make: () => string, isNew: boolean): Promise<string>;
  /** Removes the session of a context. Returns whether there was a session. */
  removeSession(context: string): Promise<boolean>;
}

/** Bytes that must be writable before a login. A context and a session need less. */
const ROOM_FOR_LOGIN = 16 * 1024;

/** Opens the store. Files are read at the first use. */
export function openSessions(folder: string): SessionStore {
  const contextsFile = join(folder, 'contexts.json');
  const credentialsFile = join(folder, 'credentials.json');
  const tipsFile = join(folder, 'audit-tips.json');
  const listenFile = join(folder, 'listen-secrets.json');
  const read = async (path: string, bits: number): Promise<Record<string, unknown>> => {
    await refuseSharedFolder(folder);
    return readJson(path, bits);
  };
  const readContexts = async (): Promise<Contexts> => ({
    current: null,
    contexts: {},
    ...(await read(contextsFile, WRITABLE_BY_OTHERS)),
  });
  const readSessions = async (): Promise<Record<string, Session>> => {
    const stored = await read(credentialsFile, OPEN_TO_OTHERS);
    return { ...(stored['sessions'] as Record<string, Session> | undefined) };
  };
  const readTips = async (): Promise<Record<string, KeptTip>> => {
    const stored = await read(tipsFile, WRITABLE_BY_OTHERS);
    return { ...(stored['tips'] as Record<string, KeptTip> | undefined) };
  };
  const change = async (work: () => Promise<void>): Promise<void> => {
    await ensurePrivateFolder(folder);
    await refuseSharedFolder(folder);
    await withLock(join(folder, '.lock'), work);
  };
  const changeSessions = (edit: (sessions: Record<string, Session>) => void): Promise<void> =>
    change(async () => {
      const sessions = await readSessions();
      edit(sessions);
      await replaceFile(credentialsFile, toJson({ version: 1, sessions }));
    });
  return {
    folder,
    contexts: readContexts,
    changeContexts: (edit) =>
      change(async () => {
        const contexts = await readContexts();
        edit(contexts);
        await replaceFile(contextsFile, toJson(contexts));
      }),
    session: async (context) => own(await readSessions(), context),
    prove: () =>
      change(async () => {
        const kept = toJson([await readContexts(), await readSessions()]);
        await proveRoom(credentialsFile, Buffer.byteLength(kept) + ROOM_FOR_LOGIN);
      }),
    saveSession: (context, session) => changeSessions((sessions) => void (sessions[context] = session)),
    saveToken: (context, { origin, app }, renewed) =>
      changeSessions((sessions) => {
        const stored = own(sessions, context);
        if (!app || stored?.origin !== origin || stored.app?.clientId !== app.clientId) return;
        if (stored.app.secret === app.secret) sessions[context] = { ...stored, ...renewed };
      }),
    auditTip: async (server) => own(await readTips(), server),
    keepAuditTip: (server, tip) =>
      change(async () => {
        const tips = { ...(await readTips()), [server]: tip };
        await replaceFile(tipsFile, toJson({ version: 1, tips }));
      }),
    async listenSecret(key, make, isNew) {
      const readSecrets = async (): Promise<Record<string, string>> => {
        const stored = await read(listenFile, OPEN_TO_OTHERS);
        return { ...(stored['secrets'] as Record<string, string> | undefined) };
      };
      const known = isNew ? undefined : own(await readSecrets(), key);
      if (known !== undefined) return known;
      let secret = '';
      await change(async () => {
        const secrets = await readSecrets();
        secret = (isNew ? undefined : own(secrets, key)) ?? make();
        await replaceFile(listenFile, toJson({ version: 1, secrets: { ...secrets, [key]: secret } }));
      });
      return secret;
    },
    async removeSession(context) {
      if (!own(await readSessions(), context)) return false;
      await changeSessions((sessions) => void delete sessions[context]);
      return true;
    },
  };
}

/** Returns a property of the object itself, not an inherited property such as `toString`. */
export function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function readJson(path: string, bits: number): Promise<Record<string, unknown>> {
  const text = await readPrivate(path, bits);
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new CliError('file_broken', EXIT.failed, `${path} is not valid JSON.`, {
      cause,
      hint: 'fix or delete the file',
    });
  }
}
