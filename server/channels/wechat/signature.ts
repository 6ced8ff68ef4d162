/** Signs and verifies requests, responses and notifications, and decrypts encrypted fields (AEAD_AES_256_GCM). */
import { type KeyObject, createCipheriv, createDecipheriv, sign, verify } from 'node:crypto';

export const SCHEME = 'WECHATPAY2-SHA256-RSA2048';

/** The largest allowed difference in seconds between a timestamp and the clock (API v3, signature verification). */
export const WINDOW_SECONDS = 300;

/**
 * The prefix of test signatures. WeChat Pay sends them to check that merchants verify signatures; they are never valid.
 */
export const SIGNTEST = 'WECHATPAY/SIGNTEST/';

/** `target` is the path with the query as it is sent; `timestamp` is in Unix seconds. */
export interface SignedRequest {
  method: string;
  target: string;
  timestamp: string;
  nonce: string;
  body: string | Buffer;
}

export interface Authorization {
  mchid: string;
  nonce: string;
  timestamp: string;
  serial: string;
  signature: string;
}

/** Builds the signed text of a request: five lines, each ending with a line feed (API v3, request signature). */
export function requestText({ method, target, timestamp, nonce, body }: SignedRequest): Buffer {
  return Buffer.concat([
    Buffer.from(`${method}\n${target}\n${timestamp}\n${nonce}\n`),
    typeof body === 'string' ? Buffer.from(body) : body,
    Buffer.from('\n'),
  ]);
}

/**
 * Builds the signed text of a response or notification from the bytes as received. A 204 response has an empty line for
 * its body.
 */
export function answerText(timestamp: string, nonce: string, rawBody: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), rawBody, Buffer.from('\n')]);
}

/** Builds the text whose signature (`paySign`) a web page in WeChat needs to open the cashier (JSAPI). */
export function jsapiText(appId: string, timestamp: string, nonce: string, prepayId: string): Buffer {
  return Buffer.from(`${appId}\n${timestamp}\n${nonce}\nprepay_id=${prepayId}\n`);
}

/** Builds the text whose signature (`sign`) an app needs to open WeChat (APP). */
export function appText(appId: string, timestamp: string, nonce: string, prepayId: string): Buffer {
  return Buffer.from(`${appId}\n${timestamp}\n${nonce}\n${prepayId}\n`);
}

/**
 * The URL path of the WeChat call that requests payment codes for agents. The signed text contains exactly this path,
 * even if the configured base URL adds a prefix before it.
 */
export const PREORDER_PATH = '/palmpayminiapp/clawagentpay/preorder';

/**
 * Builds the signed text of the call at PREORDER_PATH: five lines that each end with a line feed. Source: the demo for
 * merchants of WeChat's SkillHub.
 */
export function preorderText(timestamp: string, nonce: string, paymentRequired: string): Buffer {
  return Buffer.from(`POST\n${PREORDER_PATH}\n${timestamp}\n${nonce}\n${paymentRequired}\n`);
}

/** Writes the `Authorization` header of a request. */
export function writeAuthorization({ mchid, nonce, timestamp, serial, signature }: Authorization): string {
  return `${SCHEME} mchid="${mchid}",nonce_str="${nonce}",timestamp="${timestamp}",serial_no="${serial}",signature="${signature}"`;
}

/** Reads an `Authorization` header; undefined if it is malformed or a field is missing or duplicate. */
export function readAuthorization(header: string | undefined): Authorization | undefined {
  if (!header?.startsWith(`${SCHEME} `)) return undefined;
  const members = new Map<string, string>();
  for (const part of header.slice(SCHEME.length + 1).split(',')) {
    const match = /^\s*([a-z_]+)="([^"]+)"\s*$/.exec(part);
    if (!match?.[1] || !match[2] || members.has(match[1])) return undefined;
    members.set(match[1], match[2]);
  }
  const [mchid, nonce, timestamp, serial, signature] = MEMBERS.map((name) => members.get(name));
  if (!mchid || !nonce || !timestamp || !serial || !signature || !/^\d{1,12}$/.test(timestamp)) return undefined;
  return { mchid, nonce, timestamp, serial, signature };
}

const MEMBERS = ['mchid', 'nonce_str', 'timestamp', 'serial_no', 'signature'] as const;

/** Signs with SHA256withRSA (base64) on the thread pool. */
export function signRsa(text: Buffer, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) => {
    sign('RSA-SHA256', text, key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64')),
    );
  });
}

/** Whether `signature` (base64) is this key's SHA256withRSA signature; false for a malformed signature. */
export function verifyRsa(text: Buffer, signature: string, key: KeyObject): boolean {
  if (signature.startsWith(SIGNTEST) || !/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return false;
  return verify('RSA-SHA256', text, key, Buffer.from(signature, 'base64'));
}

/** Converts a serial to a form that can be compared: upper case, without leading zeros. */
export function plainSerial(serial: string): string {
  return serial
    .trim()
    .toUpperCase()
    .replace(/^0+(?=.)/, '');
}

/** Whether a Unix timestamp (seconds, as text) is within five minutes of `now`. */
export function isFresh(timestamp: string, now: Date): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now.getTime() / 1000 - Number(timestamp)) <= WINDOW_SECONDS;
}

/** Length of the GCM tag at the end of every ciphertext, in bytes. */
const TAG = 16;

/** An encrypted field of a notification or of `GET /v3/certificates` (AEAD_AES_256_GCM). `ciphertext` is in base64. */
export interface EncryptedText {
  ciphertext: string;
  nonce: string;
  associatedData: string;
}

/** Decrypts with the APIv3 key (32 bytes). Throws if the key, tag, nonce or associated data is wrong. */
export function openText({ ciphertext, nonce, associatedData }: EncryptedText, apiV3Key: Buffer): string {
  const bytes = Buffer.from(ciphertext, 'base64');
  if (bytes.length <= TAG) throw new Error('The ciphertext must be longer than its GCM tag (16 bytes).');
  const decipher = createDecipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: TAG });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(bytes.subarray(-TAG));
  return Buffer.concat([decipher.update(bytes.subarray(0, -TAG)), decipher.final()]).toString('utf8');
}

/** Encrypts a text as WeChat Pay does. It is used by the simulator and is the inverse of openText. */
export function encryptText(text: string, nonce: string, associatedData: string, apiV3Key: Buffer): EncryptedText {
  const cipher = createCipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: TAG });
  cipher.setAAD(Buffer.from(associatedData));
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { ciphertext: bytes.toString('base64'), nonce, associatedData };
}
