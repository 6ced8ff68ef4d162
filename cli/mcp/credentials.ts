import { createApiClient, type ApiClient, type ClientSetup } from '../api-client.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { readSecretFile, readSecretText } from '../secrets.ts';
import type { Terminal } from '../terminal.ts';

/** The secret itself is never a flag. */
export interface CredentialFlags {
  clientId?: string;
  clientSecretFile?: string;
}

interface Credentials {
  clientId: string;
  secret: string;
}

/** Reads the client id and the secret from flags, environment and files. Throws UsageError if one is missing. */
export async function readCredentials(terminal: Terminal, flags: CredentialFlags): Promise<Credentials> {
  const { env } = terminal;
  const clientId = flags.clientId ?? env['PAYCTL_CLIENT_ID'];
  if (!clientId) throw new UsageError('An API application is required.', 'set PAYCTL_CLIENT_ID or add --client-id ID');
  const file = flags.clientSecretFile ?? env['PAYCTL_CLIENT_SECRET_FILE'];
  const direct = env['PAYCTL_CLIENT_SECRET'];
  if (file) return { clientId, secret: await readSecretFile(terminal, file) };
  if (direct) return { clientId, secret: readSecretText(direct, 'PAYCTL_CLIENT_SECRET') };
  throw new UsageError(
    'The secret of the application is required.',
    'set PAYCTL_CLIENT_SECRET or PAYCTL_CLIENT_SECRET_FILE, or add --client-secret-file FILE',
  );
}

/** A client for one application. `secrets` returns its secret and tokens, so that tool results can be redacted. */
export interface ApplicationClient {
  api: ApiClient;
  secrets(): readonly string[];
}

/** A token is renewed this long before its expiry. A token that is valid for less than a minute is renewed halfway. */
const BEFORE_END_MS = 30_000;

/** Creates an API client that renews its token before expiry. After a 401, it repeats the request with a new token. */
export function createApplicationClient(
  setup: Omit<ClientSetup, 'authorize' | 'loginCommand'>,
  { clientId, secret }: Credentials,
  now: () => number,
): ApplicationClient {
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString('base64');
  const common = { ...setup, loginCommand: async () => 'check the client id and the secret of the application' };
  const anonymous = createApiClient({ ...common, authorize: async () => ({ authorization: `Basic ${basic}` }) });
  const tokens: string[] = [];
  let held: Promise<{ token: string; until: number }> | undefined;

  const ask = async (): Promise<{ token: string; until: number }> => {
    const raw = { type: 'application/x-www-form-urlencoded', content: 'grant_type=client_credentials' };
    const body = await anonymous.data({ method: 'POST', path: '/oauth/token', raw });
    const { access_token: token, expires_in: seconds } = body;
    if (typeof token !== 'string' || token === '')
      throw new CliError('token_missing', EXIT.failed, 'The server sent no access token.', { hint: 'check --server' });
    tokens.unshift(token);
    tokens.splice(3);
    const lives = typeof seconds === 'number' ? seconds * 1000 : 60_000;
    return { token, until: now() + Math.max(lives - BEFORE_END_MS, lives / 2) };
  };
  const fresh = (): Promise<{ token: string; until: number }> => {
    const asked = ask();
    held = asked;
    asked.catch(() => {
      if (held === asked) held = undefined;
    });
    return asked;
  };
  const authorize = async (): Promise<Record<string, string>> => {
    const known = await held;
    const { token } = known && known.until > now() ? known : await (known ? fresh() : (held ?? fresh()));
    return { authorization: `Bearer ${token}` };
  };
  const client = createApiClient({ ...common, authorize });

  /** Repeats a request after a 401. Even a change is repeated, because a request with a 401 changed nothing. */
  const again = async <T>(send: () => Promise<T>): Promise<T> => {
    const before = held;
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof CliError) || error.options.status !== 401 || before === undefined) throw error;
      if (held === before) held = undefined;
      return send();
    }
  };
  return {
    secrets: () => [secret, encodeURIComponent(secret), basic, ...tokens],
    api: {
      ...client,
      call: (call) => again(() => client.call(call)),
      data: (call) => again(() => client.data(call)),
      get: (path, query) => again(() => client.get(path, query)),
      page: (path, query) => again(() => client.page(path, query)),
    },
  };
}
