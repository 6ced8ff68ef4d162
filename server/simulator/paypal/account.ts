/** Creates PayPal accounts and reads their webhooks and certificates. Issues and checks access tokens. */
import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { type Account, merchantOf } from '../accounts.ts';
import { type Credential, issueCertificate, newRsaKeys, pkcs8 } from '../certificates.ts';
import type { Core } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { refuse, refuseToken } from './answers.ts';

const CERTIFICATE_NAME = 'messageverificationcerts.simulator.paypal.com';

/** A registered webhook. A webhook without a URL receives only events of orders that have a notify URL. */
export interface Webhook {
  id: string;
  url: string | null;
  eventTypes: string[];
}

/**
 * Creates the ids, the keys and the first webhook of a new account. `options.notifyUrl` is the URL of that webhook. If
 * `options.merchantOf` names an existing account, the new account belongs to the same PayPal merchant.
 */
export async function newSecrets(
  core: Core,
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string>> {
  const { certificate, privateKey } = await issueCertificateOf(core);
  const url = typeof options['notifyUrl'] === 'string' ? options['notifyUrl'] : null;
  const first: Webhook = { id: newPaypalId(), url, eventTypes: ['*'] };
  return {
    clientId: `sim_${randomBytes(30).toString('base64url')}`,
    clientSecret: `sim_${randomBytes(30).toString('base64url')}`,
    webhookId: first.id,
    merchantId: merchantOf(core, 'paypal', options)?.['merchantId'] ?? newPaypalId(13),
    privateKey,
    certificates: JSON.stringify([certificate]),
    webhooks: JSON.stringify([first]),
  };
}

/**
 * Replaces one secret of an account. `certificate`: a new certificate for signing. `leaf-only`: a new certificate for
 * signing, whose file lacks the intermediate certificate. `clientSecret`: a new client secret. `merchant`: another
 * merchant, who receives the money of new orders. Clients can still download the earlier certificates.
 */
export async function rotate(core: Core, { secrets }: Account, what: string): Promise<void> {
  if (what === 'clientSecret') {
    secrets['clientSecret'] = `sim_${randomBytes(30).toString('base64url')}`;
  } else if (what === 'merchant') {
    secrets['merchantId'] = newPaypalId(13);
  } else if (what === 'certificate' || what === 'leaf-only') {
    const isAlone = what === 'leaf-only';
    const { certificate, privateKey } = await (isAlone ? issueLeaf() : issueCertificateOf(core));
    secrets['privateKey'] = privateKey;
    secrets['certificates'] = JSON.stringify([certificate, ...certificatesOf({ secrets })]);
  } else {
    const known = 'certificate, leaf-only, clientSecret or merchant';
    throw new SimulatorRefusal(400, 'unknown_what', `For PayPal, the field "what" must be ${known}.`);
  }
}

function issueCertificateOf({ authority }: Core): Promise<Credential> {
  return authority.issue(CERTIFICATE_NAME, { dnsNames: [CERTIFICATE_NAME] });
}

/**
 * Issues a certificate whose file lacks the intermediate certificate. Some of PayPal's clients do not need it in the
 * file, because they contain it (PayPal-PHP-SDK).
 */
async function issueLeaf(): Promise<Credential> {
  const [keys, intermediate] = await Promise.all([newRsaKeys(), newRsaKeys()]);
  const nameOf = (CN: string) => ({ C: 'US', O: 'Payment Simulator', OU: 'PayPal', CN });
  const certificate = issueCertificate({
    subject: nameOf(CERTIFICATE_NAME),
    issuer: nameOf('Payment Simulator Intermediate'),
    publicKey: keys.publicKey,
    signer: intermediate.privateKey,
    ca: false,
    dnsNames: [CERTIFICATE_NAME],
  });
  return { certificate, privateKey: pkcs8(keys.privateKey) };
}

/** Returns the account's certificates for webhooks as PEM. The first certificate signs new webhooks. */
export function certificatesOf({ secrets }: Pick<Account, 'secrets'>): string[] {
  return JSON.parse(secrets['certificates'] ?? '[]') as string[];
}

/** Returns the id of a certificate, which is part of its download URL. */
export function certificateId(certificate: string): string {
  return `CERT-${createHash('sha256').update(certificate).digest('hex').slice(0, 40)}`;
}

/** Returns the account's webhooks. The first webhook is the one in the channel configuration. */
export function webhooksOf({ secrets }: Account): Webhook[] {
  return JSON.parse(secrets['webhooks'] ?? '[]') as Webhook[];
}

/** Replaces the account's webhooks; the caller saves the accounts. */
export function setWebhooks({ secrets }: Account, webhooks: readonly Webhook[]): void {
  secrets['webhooks'] = JSON.stringify(webhooks);
}

/** A random id in PayPal's form: capital letters and digits. */
export function newPaypalId(length = 17): string {
  const signs = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  return Array.from({ length }, () => signs[randomInt(signs.length)]).join('');
}

/** The lifetime of an access token in seconds: the same as PayPal's. */
export const TOKEN_SECONDS = 32_400;

/** Issues an access token. It contains a MAC made with the client secret, so a new client secret invalidates it. */
export function issueToken({ secrets }: Account, now: number): string {
  const text = `A21_${secrets['clientId']}.${Math.floor(now / 1000) + TOKEN_SECONDS}`;
  return `${text}.${mac(secrets, text)}`;
}

/** Returns the account of an `Authorization: Basic` header; throws PaypalRefusal if id or secret is wrong. */
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

/** Returns the account of an `Authorization: Bearer` token; throws PaypalRefusal if it is invalid or has expired. */
export function accountOfBearer(accounts: readonly Account[], authorization: string | undefined, now: number): Account {
  const [, text, clientId, end, tokenMac] =
    /^Bearer (A21_([\w-]+)\.(\d{1,12}))\.([\w-]+)$/.exec(authorization ?? '') ?? [];
  const account = accounts.find(({ secrets }) => secrets['clientId'] === clientId);
  if (!account || text === undefined || !equal(mac(account.secrets, text), tokenMac ?? '')) {
    throw refuse(401, 'INVALID_TOKEN', 'Token signature verification failed.');
  }
  if (Number(end) * 1000 <= now) throw refuse(401, 'INVALID_TOKEN', 'The token has expired.');
  return account;
}

/** The last MAC that was computed; most calls use the same token as the call before. */
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
