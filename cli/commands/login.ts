import type { Command } from 'commander';
import { CHECK_CREDENTIALS, type CredentialFlags, type Credentials, grantToken, revokeToken } from '../application.ts';
import type { Context, ContextOf } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { choice, codeFlags, examples, passwordFlags } from '../options.ts';
import { askCode, givenCode, wantsCode, type CodeFlags } from '../own-login.ts';
import { readClientFile, takePassword, type PasswordFlags } from '../secrets.ts';
import { LABELS, own, type Contexts, type Label, type SavedContext, type Session } from '../session.ts';
import {
  DEFAULT_SERVER,
  cleanServer,
  guessLabel,
  isOpenToReaders,
  notEncrypted,
  originOf,
  reportedLabel,
  savedConnection,
} from '../settings.ts';
import { type Row, plain } from '../values.ts';

interface LoginFlags extends PasswordFlags, CodeFlags, CredentialFlags {
  username?: string;
  label?: Label;
}

/** Defines `payctl login`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Log in as an administrator, or with --client-id as an application of a merchant. If the account has a second factor, a code is required. The server is saved as a context; the token, and the secret of an application, which renews it, are stored in a file that only you can read.',
    )
    .option('-u, --username <name>', 'login name')
    .option('--client-id <id>', 'log in as this application')
    .option(
      '--client-secret-file <file>',
      'file with the client_secret of the application, or the output of payctl app create -o env',
    );
  codeFlags(passwordFlags(command))
    .addOption(
      choice(
        '--label <label>',
        'environment of the context; by default as reported by the server, or guessed from its address',
        LABELS,
      ),
    )
    .action((flags: LoginFlags) => run(context(), flags));
  examples(
    command,
    'payctl login --server https://pay.example.com -u alice',
    'payctl login --server http://127.0.0.1:8080 -u alice --password-stdin < alice.password',
    'payctl login -C prod -u alice --password-file alice.password --code-secret-file alice.totp',
    'payctl login --server https://pay.example.com --client-id app_7Kd2mQxW9bTzR4vLp1Ns --client-secret-file shop.secret',
  );
}

async function run(context: Context, flags: LoginFlags): Promise<void> {
  const contexts = await context.sessions.contexts();
  const clientId = await applicationOf(context, flags, contexts);
  const place = choosePlace(context, contexts, clientId);
  await refuseOtherKind(context, place, clientId);
  const origin = originOf(place.saved.server);
  // HTTPS is checked here, before the API client checks it, so that the operator does not type a password in vain.
  if (isOpenToReaders(origin) && !(await context.allowsHttp(origin))) throw notEncrypted(origin);
  await context.print.note(`Logging in at ${place.saved.server}`);
  const login = { place, origin, becomesCurrent: contexts.current === null || place.isNew };
  await (clientId === undefined
    ? logInAdmin(context, flags, login)
    : logInApplication(context, flags, login, clientId));
  await context.print.done(
    `Logged in. ${login.becomesCurrent ? `"${place.name}" is the current context.` : `Use it with -C ${place.name}.`}`,
  );
}

/** Where a login is stored. */
interface NewLogin {
  place: Place;
  origin: string;
  becomesCurrent: boolean;
}

async function logInAdmin(
  context: Context,
  flags: LoginFlags,
  { place, origin, becomesCurrent }: NewLogin,
): Promise<void> {
  const { terminal, prompts, print, sessions } = context;
  const username =
    flags.username ?? place.saved.user ?? (await prompts.text({ message: 'Username', flag: '--username' }));
  const password = await takePassword(terminal, prompts, flags, { message: `Password for ${username}`, isNew: false });
  const old = await sessions.session(place.name);
  // The cookie lets the service end the old session when the new session starts.
  const headers: Record<string, string> = old?.origin === origin ? { cookie: `auth_token=${old.token}` } : {};
  const send = (code: string | undefined) =>
    context.apiAt(place.saved.server).data({
      method: 'POST',
      path: '/api/v1/login',
      headers,
      body: { username, password, ...(code !== undefined && { code }) },
      anonymous: true,
    });
  await sessions.prove();
  const hadFactor = old?.origin === origin && old.username === username && old.secondFactor === true;
  const answer = await sendWithCode(context, flags, hadFactor, send);
  const session = readSession(answer, origin, username, terminal.now());
  const { isGuess: _guess, clientId: _before, ...known } = place.saved;
  const saved: SavedContext = {
    ...known,
    ...(await labelOf(flags, place.saved, () => infoOf(context, known.server, session.token))),
    user: session.username,
    ...savedConnection(context.flags, origin, terminal.cwd),
  };
  try {
    await store(context, { place, becomesCurrent }, saved, session);
  } catch (error) {
    // The new session could not be saved, so payctl logs out. Otherwise an unused session would stay valid.
    const headers = { authorization: `Bearer ${session.token}` };
    const logout = { method: 'POST', path: '/api/v1/logout', headers, anonymous: true };
    await context
      .apiAt(place.saved.server)
      .call(logout)
      .catch(() => {});
    throw error;
  }
  await print.item(
    {
      context: place.name,
      server: saved.server,
      label: saved.label,
      username: session.username,
      role: session.role ?? null,
      secondFactor: answer['secondFactor'] ?? 'none',
      expiresAt: session.expiresAt,
    },
    VIEW,
  );
  if (answer['secondFactor'] === 'missing')
    await print.note('Every administrator must have a second factor here. Next: payctl second-factor enable');
}

async function store(
  { sessions }: Context,
  { place, becomesCurrent }: Pick<NewLogin, 'place' | 'becomesCurrent'>,
  saved: SavedContext,
  session: Session,
): Promise<void> {
  await sessions.changeContexts((contexts) => {
    contexts.contexts[place.name] = saved;
    if (becomesCurrent) contexts.current = place.name;
  });
  await sessions.saveSession(place.name, session);
}

/** The client id of the login; undefined for the login of an administrator. A context is used again as before. */
async function applicationOf(
  { flags: global, prompts, terminal }: Context,
  flags: LoginFlags,
  { contexts }: Contexts,
): Promise<string | undefined> {
  const { clientId, clientSecretFile } = flags;
  const name = global.context ?? terminal.env['PAYCTL_CONTEXT'];
  const named = name === undefined ? undefined : own(contexts, name);
  if (clientId === undefined && clientSecretFile === undefined)
    return flags.username === undefined ? named?.clientId : undefined;
  const admin = Object.entries({
    '--username': flags.username,
    '--password-stdin': flags.passwordStdin,
    '--password-file': flags.passwordFile,
    '--code-stdin': flags.codeStdin,
    '--code-file': flags.codeFile,
    '--code-secret-file': flags.codeSecretFile,
  }).find(([, value]) => value !== undefined);
  if (admin) throw new UsageError(`${admin[0]} is for administrators and cannot be combined with --client-id.`);
  const known = clientId ?? named?.clientId;
  if (known !== undefined) return known;
  const inFile = clientSecretFile === undefined ? undefined : await readClientFile(terminal, clientSecretFile);
  return inFile?.clientId ?? prompts.text({ message: 'Client id', flag: '--client-id' });
}

/** Replacing the other kind of login would leave a session behind that nothing ends. */
async function refuseOtherKind({ sessions }: Context, place: Place, clientId: string | undefined): Promise<void> {
  const old = place.isNew ? undefined : await sessions.session(place.name);
  if (!old || Boolean(old.app) === (clientId !== undefined)) return;
  const kind = old.app ? `application ${old.username}` : `administrator ${old.username}`;
  throw new UsageError(
    `Context "${place.name}" has the login of the ${kind}.`,
    `choose another name with -C, or first end that login: payctl logout -C ${place.name}`,
    'context_of_another_login',
  );
}

async function logInApplication(
  context: Context,
  { clientSecretFile, label }: LoginFlags,
  { place, origin, becomesCurrent }: NewLogin,
  clientId: string,
): Promise<void> {
  const { terminal, prompts, print, sessions } = context;
  const secret = clientSecretFile
    ? (await readClientFile(terminal, clientSecretFile, clientId)).secret
    : await prompts.secret({ message: `Secret of ${clientId}`, flag: '--client-secret-file' });
  const app: Credentials = { clientId, secret };
  const api = context.apiAt(place.saved.server, CHECK_CREDENTIALS);
  await sessions.prove();
  const old = await sessions.session(place.name);
  const { token, expiresAt } = await grantToken(api, app, terminal.now());
  try {
    const headers = { authorization: `Bearer ${token}` };
    const me = await api.data({ method: 'GET', path: '/api/v2/me', headers, anonymous: true });
    const { isGuess: _guess, ...known } = place.saved;
    const saved: SavedContext = {
      ...known,
      ...(await labelOf({ label }, place.saved, async () => me)),
      clientId,
      ...savedConnection(context.flags, origin, terminal.cwd),
    };
    const username = plain(me['name']);
    await store(context, { place, becomesCurrent }, saved, {
      origin,
      username,
      token,
      expiresAt: expiresAt.toISOString(),
      app,
    });
    await print.item(
      { context: place.name, server: saved.server, label: saved.label, ...me, expiresAt: expiresAt.toISOString() },
      APPLICATION_VIEW,
    );
  } catch (error) {
    await revokeToken(api, token).catch(() => {});
    throw error;
  }
  if (old?.app && old.origin === origin) await revokeToken(api, old.token).catch(() => {});
}

/** The label of a context after a login. Only what the operator or a deployed service says is no guess. */
async function labelOf(
  { label }: Pick<LoginFlags, 'label'>,
  saved: SavedContext,
  ask: () => Promise<Row>,
): Promise<Pick<SavedContext, 'label' | 'isGuess'>> {
  if (label || !saved.isGuess) return { label: label ?? saved.label };
  const said = await ask();
  const isDeployed = said['environment'] === 'production' || said['environment'] === 'staging';
  return {
    label: reportedLabel(said) ?? guessLabel(originOf(saved.server)),
    ...(isDeployed ? {} : { isGuess: true }),
  };
}

/** Empty if the service refuses the information, e.g. before a required second factor is enrolled. */
async function infoOf({ apiAt }: Context, server: string, token: string): Promise<Row> {
  const headers = { authorization: `Bearer ${token}` };
  return apiAt(server)
    .data({ method: 'GET', path: '/api/v1/info', headers, anonymous: true })
    .catch(() => ({}));
}

const VIEW = {
  noun: 'context',
  id: 'context',
  columns: [
    { field: 'context' },
    { field: 'server' },
    { field: 'label', kind: 'status' },
    { field: 'username' },
    { field: 'role' },
    { field: 'secondFactor' },
    { field: 'expiresAt', kind: 'time' },
  ],
} as const;

const APPLICATION_VIEW = {
  noun: 'context',
  id: 'context',
  columns: [
    { field: 'context' },
    { field: 'server' },
    { field: 'label', kind: 'status' },
    { field: 'client_id', title: 'CLIENT_ID', kind: 'id' },
    { field: 'name' },
    { field: 'project' },
    { field: 'scopes' },
    { field: 'expiresAt', kind: 'time' },
  ],
} as const;

interface Place {
  name: string;
  saved: SavedContext;
  isNew: boolean;
}

/**
 * Without -C, a login uses a context of its own kind, so that an administrator and an application can be logged in to
 * one server side by side.
 */
export function choosePlace(
  { flags, terminal }: Pick<Context, 'flags'> & { terminal: Pick<Context['terminal'], 'env'> },
  known: Contexts,
  clientId: string | undefined,
): Place {
  const server = flags.server ?? (flags.context === undefined ? terminal.env['PAYCTL_SERVER'] : undefined);
  const name =
    flags.context ??
    (server === undefined ? (terminal.env['PAYCTL_CONTEXT'] ?? known.current ?? undefined) : undefined);
  const saved = name === undefined ? undefined : own(known.contexts, name);
  if (name !== undefined && saved) {
    if (server !== undefined && originOf(server) !== originOf(saved.server)) {
      throw new UsageError(
        `Context "${name}" points to ${saved.server}, not ${server}.`,
        'choose another context name with -C',
      );
    }
    if (flags.context !== undefined || isOf(saved, clientId)) return { name, saved, isNew: false };
    return newPlace(undefined, saved.server, known, clientId);
  }
  if (name !== undefined && server === undefined)
    throw new UsageError(`Context "${name}" not found.`, `payctl login -C ${name} --server URL`, 'context_unknown');
  return newPlace(name, server ?? DEFAULT_SERVER, known, clientId);
}

/** Whether the context is one of this application, or of an administrator. One without any login yet is both. */
function isOf(saved: SavedContext, clientId: string | undefined): boolean {
  const isBlank = saved.clientId === undefined && saved.user === undefined;
  return saved.clientId === clientId || isBlank;
}

function newPlace(name: string | undefined, server: string, known: Contexts, clientId: string | undefined): Place {
  const origin = originOf(server);
  const match =
    name === undefined
      ? Object.entries(known.contexts).find(
          ([, context]) => originOf(context.server, 'context') === origin && isOf(context, clientId),
        )
      : undefined;
  if (match) return { name: match[0], saved: match[1], isNew: false };
  const label = guessLabel(origin);
  return {
    name: name ?? nameFor(origin, known, clientId),
    saved: { server: cleanServer(server), label, isGuess: true },
    isNew: true,
  };
}

function nameFor(origin: string, known: Contexts, clientId: string | undefined): string {
  const { hostname, host } = new URL(origin);
  const simple = guessLabel(origin) === 'dev' ? 'local' : hostname;
  const unique = host.replace(/[^\w.-]/g, '-');
  const isFree = (name: string): boolean => own(known.contexts, name) === undefined;
  const suffixed = `${unique}-${clientId ?? 'admin'}`;
  let name = [simple, unique].find(isFree) ?? suffixed;
  for (let number = 2; !isFree(name); number += 1) name = `${suffixed}-${number}`;
  return name;
}

/** Without a flag for the one-time code, payctl prompts for a code only if the service requires one. */
async function sendWithCode(
  { terminal, prompts }: Context,
  flags: LoginFlags,
  hadFactor: boolean,
  send: (code: string | undefined) => Promise<Row>,
): Promise<Row> {
  const enter = (code: string): Promise<Row> =>
    send(code).catch((error: unknown) => {
      throw hinted(error, flags);
    });
  const given = await givenCode(terminal, flags);
  if (given !== undefined) return enter(given);
  if (hadFactor && prompts.possible) return enter(await askCode(prompts));
  return send(undefined).catch(async (error: unknown) => {
    if (wantsCode(error)) return enter(await askCode(prompts));
    throw error;
  });
}

/** The one-time code may be wrong, or another run of payctl may already have used the code. */
function hinted(error: unknown, { codeSecretFile }: LoginFlags): unknown {
  if (!(error instanceof CliError) || error.code !== 'login_failed') return error;
  const what = codeSecretFile ? 'the secret' : 'the code';
  const hint = `check the username, the password and ${what}; each code works once, and the next one comes within 30 s`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

function readSession(answer: Row, origin: string, username: string, now: Date) {
  const { token, expiresIn, role, secondFactor } = answer;
  if (typeof token !== 'string' || typeof expiresIn !== 'number')
    throw new UsageError('Unexpected response: this server is not the payment service.', 'check --server');
  return {
    origin,
    username: typeof answer['username'] === 'string' ? answer['username'] : username,
    ...(typeof role === 'string' ? { role } : {}),
    ...(secondFactor === 'used' ? { secondFactor: true } : {}),
    token,
    expiresAt: new Date(now.getTime() + expiresIn * 1000).toISOString(),
  };
}
