import { bootstrapAdmin, request, type Answer, type Service } from './service.ts';

/** An administrator with a session. */
export interface Admin {
  token: string;
  /** A new session of the same administrator. */
  logIn(): Promise<Admin>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

/** The first administrator of a service, logged in. */
export async function firstAdmin(service: Service): Promise<Admin> {
  const account = { username: 'alice', password: 'seven-quiet-otters-swim' };
  await bootstrapAdmin(service.app, account);
  return logIn();

  async function logIn(): Promise<Admin> {
    const login = await request(service.url, 'POST', '/api/v1/login', account);
    const { token } = login.body.data;
    return {
      token,
      logIn,
      call: (method, path, body, headers = {}) =>
        request(service.url, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
    };
  }
}
