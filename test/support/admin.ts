import { bootstrapAdmin, request, type Answer, type Service } from './service.ts';

/** An administrator with a session. */
export interface Admin {
  token: string;
  /** A new session of the same administrator. */
  logIn(): Promise<Admin>;
  /** The same at another service on the same database. */
  logInAt(url: string): Promise<Admin>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
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
      call: (method, path, body, headers = {}) =>
        request(url, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
    };
  }
}
