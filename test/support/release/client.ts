/** An answer of another release, whose contracts are not today's. */
export interface OldAnswer {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  body: any;
}

/** Sends JSON as somebody. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<OldAnswer>;

/** Sends to a service of any release, with a token or without. */
export function senderTo(url: string, token?: string): Send {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
}

/** A session of an administrator. */
export async function logInAt(url: string, account: { username: string; password: string }): Promise<Send> {
  const { body } = await senderTo(url)('POST', '/api/v1/login', account);
  return senderTo(url, body.data.token);
}

/** An application with a token. */
export async function applicationAt(url: string, clientId: string, secret: string): Promise<Send> {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const { status, body } = await senderTo(url)('POST', '/oauth/token', grant);
  if (status !== 200) throw new Error(`token: ${status} ${JSON.stringify(body)}`);
  return senderTo(url, body.access_token);
}
