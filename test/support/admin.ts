import type { Role } from '../../server/http/contract.ts';
import { bootstrapAdmin, request, type Answer, type Service } from './service.ts';

/** Sends JSON with one caller's credential and reads JSON. */
export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** Sends with a token, and after a confirmation with the new token, as a browser sends the newest cookie. */
export function as({ url }: { url: string }, begun: string): Call {
  let token = begun;
  return async (method, path, body, headers = {}) => {
    const answer = await request(url, method, path, body, { authorization: `Bearer ${token}`, ...headers });
    if (path === '/api/v1/me/confirm' && answer.status === 200) token = answer.body.data.token;
    return answer;
  };
}

/** Creates an account through another session and logs in with it. */
export async function madeBy(by: Call, { url }: { url: string }, username: string, role = 'admin'): Promise<Call> {
  const account = { username, password: 'nine-loud-badgers-nap' };
  await by('POST', '/api/v1/admins', { ...account, role });
  return logIn(url, account);
}

/** Creates an account on the service's machine, unknown to any administrator, and logs in with it. */
export async function madeOffline(
  { app, url }: Service,
  username: string,
  of: { role?: Role; projects?: readonly string[] } = {},
): Promise<Call> {
  const account = { username, password: 'nine-loud-badgers-nap' };
  await app.identity.admins.create({ kind: 'offline', name: 'test@test' }, { ...account, role: 'admin', ...of });
  return logIn(url, account);
}

async function logIn(url: string, account: { username: string; password: string }): Promise<Call> {
  return as({ url }, (await request(url, 'POST', '/api/v1/login', account)).body.data.token);
}

/** An administrator with a session. */
export interface Admin {
  token: string;
  /** A new session of the same administrator. */
  logIn(): Promise<Admin>;
  /** A session at another service on the same database. */
  logInAt(url: string): Promise<Admin>;
  call: Call;
}

/** The first administrator of a service, logged in. */
export async function firstAdmin(service: Service): Promise<Admin> {
  const account = { username: 'alice', password: 'seven-quiet-otters-swim' };
  await bootstrapAdmin(service.app, account);
  return logInAt(service.url);

  async function logInAt(url: string): Promise<Admin> {
    const login = await request(url, 'POST', '/api/v1/login', account);
    const { token } = login.body.data;
    return {
      token,
      logIn: () => logInAt(url),
      logInAt,
      call: as({ url }, token),
    };
  }
}
