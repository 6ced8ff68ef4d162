import { type Answer, bootstrapAdmin, request, type Service } from './service.ts';

const account = { username: 'tester', password: 'seven-quiet-otters-swim' };

/** The console of a service, as an administrator uses it. */
export interface Console {
  token: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Makes the first administrator and logs in. */
export async function openConsole(service: Service): Promise<Console> {
  await bootstrapAdmin(service.app, account);
  const { body } = await request(service.url, 'POST', '/api/v1/login', account);
  const { token } = body.data as { token: string };
  const call: Console['call'] = (method, path, sent) =>
    request(service.url, method, path, sent, { authorization: `Bearer ${token}` });
  return { token, call };
}
