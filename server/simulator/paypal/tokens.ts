import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Account } from '../accounts.ts';
import { refuse, refuseToken } from './refusals.ts';

/** Seconds that an access token lives, as PayPal's do. */
export const TOKEN_SECONDS = 32_400;

/** An access token that needs no memory: client, end and a MAC by the client's secret, so a new secret ends it. */
export function issueToken({ secrets }: Account, now: number): string {
  const text = `A21_${secrets['clientId']}.${Math.floor(now / 1000) + TOKEN_SECONDS}`;
  return `${text}.${mac(secrets, text)}`;
}

/** The account that `Authorization: Basic` names by client id and secret; throws PaypalRefusal. */
export function accountOfBasic(accounts: readonly Account[], authorization: string | undefined): Account {
  const encoded = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1] ?? '';
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const account = accounts.find(({ secrets }) => secrets['clientId'] === text.slice(0, colon));
  if (colon < 0 || !account || !equal(account.secrets['clientSecret'] ?? '', text.slice(colon + 1))) {
    throw refuseToken(401, 'invalid_client', 'Client Authentication failed');
  }
  return account;
}

/** The account whose token `Authorization: Bearer` carries; throws PaypalRefusal when it is unknown or over. */
export function accountOfBearer(accounts: readonly Account[], authorization: string | undefined, now: number): Account {
  const [, text, clientId, end, seal] = /^Bearer (A21_([\w-]+)\.(\d{1,12}))\.([\w-]+)$/.exec(authorization ?? '') ?? [];
  const account = accounts.find(({ secrets }) => secrets['clientId'] === clientId);
  if (!account || text === undefined || !equal(mac(account.secrets, text), seal ?? '')) {
    throw refuse(401, 'INVALID_TOKEN', 'Token signature verification failed.');
  }
  if (Number(end) * 1000 <= now) throw refuse(401, 'INVALID_TOKEN', 'The token has expired.');
  return account;
}

/** The one before: nearly every call comes with the token of the last. */
let last = { secret: '', text: '', mac: '' };

function mac({ clientSecret: secret = '' }: Account['secrets'], text: string): string {
  if (last.secret !== secret || last.text !== text)
    last = { secret, text, mac: createHmac('sha256', secret).update(text).digest('base64url') };
  return last.mac;
}

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
