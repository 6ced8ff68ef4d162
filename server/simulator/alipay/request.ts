import { verifyRsa2 } from '../../channels/alipay/signature.ts';
import { charsetOf, decode, type Charset } from './charset.ts';
import { readChinaTime } from './china-time.ts';
import type { Part } from '../multipart.ts';
import { readForm, signedBytes, type RawForm } from './form.ts';
import { AlipayRefusal } from './reply.ts';
import type { AlipayAccount } from './secrets.ts';

/** How far a request's timestamp may be from real time. */
const WINDOW_MS = 15 * 60_000;

/** A request whose signature was checked. */
export interface AlipayRequest {
  account: AlipayAccount;
  /** The merchants that the request may speak for. */
  sellers: readonly string[];
  method: string;
  charset: Charset;
  certificateMode: boolean;
  notifyUrl: string | null;
  returnUrl: string | null;
  content: Readonly<Record<string, unknown>>;
  /** Files beside the parameters, which are not signed. */
  files: readonly Part[];
}

/** A parsed request that was not checked yet. */
export interface RawRequest {
  form: RawForm;
  method: string;
  files: readonly Part[];
}

/**
 * Reads the parameters from the query and the body. Alipay's own PHP and .NET clients write the charset into both of them, and it
 * counts once.
 */
export function readRequest(query: string, body: string | readonly Part[]): RawRequest {
  if (typeof body !== 'string') return readUpload(query, body);
  const form = readForm(query);
  const inQuery = form.values.get('charset');
  const inBoth = readForm(body, form).values.get('charset');
  const isSaidTwice = inQuery !== undefined && inBoth !== inQuery && inBoth?.equals(inQuery);
  if (isSaidTwice) form.repeated.splice(form.repeated.indexOf('charset'), 1);
  return { form, method: text(form, 'method'), files: [] };
}

/** A form with files: its texts are parameters like those of the address. */
function readUpload(query: string, parts: readonly Part[]): RawRequest {
  const form = readForm(query);
  for (const { name, bytes } of parts.filter(({ fileName }) => fileName === undefined)) {
    if (form.values.has(name)) form.repeated.push(name);
    form.values.set(name, bytes);
  }
  return { form, method: text(form, 'method'), files: parts.filter(({ fileName }) => fileName !== undefined) };
}

/** Checks a request as the gateway does; throws AlipayRefusal. A payer's page may be opened long after it was signed. */
export function checkRequest(
  { form, method, files }: RawRequest,
  accountOf: (appId: string) => AlipayAccount | undefined,
  methods: ReadonlySet<string>,
  { checkTime }: { checkTime: boolean },
): AlipayRequest {
  checkCommon(form, methods, files.length > 0);
  const account = accountOf(text(form, 'app_id'));
  if (account === undefined) throw new AlipayRefusal('40002', 'isv.invalid-app-id', 'The AppID is invalid.', false);
  if (checkTime) checkTimestamp(text(form, 'timestamp'));
  const certificateMode = checkSerials(form, account);
  if (!verifyRsa2(signedBytes(form), text(form, 'sign'), account.appPublicKey)) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-signature',
      'The signature does not match; check the signed text and the app key.',
    );
  }
  const charset = charsetOf(text(form, 'charset')) ?? 'utf-8';
  return {
    account,
    sellers: sellersFor(account, text(form, 'app_auth_token')),
    method,
    charset,
    certificateMode,
    notifyUrl: addressOf(form, 'notify_url'),
    returnUrl: addressOf(form, 'return_url'),
    content: files.length > 0 ? {} : contentOf(decode(form.values.get('biz_content') ?? Buffer.alloc(0), charset)),
    files,
  };
}

/** A token means the merchant that gave it; without one the app speaks for its own. */
function sellersFor({ sellers, authorised }: AlipayAccount, token: string): readonly string[] {
  if (token === '') return sellers;
  const seller = authorised.get(token);
  if (seller !== undefined) return [seller];
  throw new AlipayRefusal('20001', 'aop.invalid-app-auth-token', 'The app_auth_token is invalid.');
}

/** Alipay's own client for PHP sends no version when it downloads a certificate, so the gateway cannot insist on one. */
const DOWNLOAD = 'alipay.open.app.alipaycert.download';

function checkCommon(form: RawForm, methods: ReadonlySet<string>, isUpload: boolean): void {
  if (form.repeated.length > 0) {
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', `${form.repeated[0]} occurs twice.`, false);
  }
  const mayLackVersion = text(form, 'method') === DOWNLOAD && !form.values.has('version');
  const required = [
    ['app_id', 'isv.missing-app-id'],
    ['method', 'isv.missing-method'],
    ['sign_type', 'isv.missing-signature-type'],
    ['sign', 'isv.missing-signature'],
    ['timestamp', 'isv.missing-timestamp'],
    ['version', 'isv.missing-version'],
    ['charset', 'isv.missing-charset'],
    // A file comes without it.
    ...(isUpload ? [] : [['biz_content', 'isv.missing-biz-content'] as const]),
  ] as const;
  for (const [name, subCode] of required) {
    if (name === 'version' && mayLackVersion) continue;
    if (text(form, name) === '') throw new AlipayRefusal('40001', subCode, `${name} is missing.`, false);
  }
  const allowed = (name: string, good: boolean, subCode: string) => {
    if (!good) throw new AlipayRefusal('40002', subCode, `${name} is invalid.`, false);
  };
  allowed('sign_type', text(form, 'sign_type') === 'RSA2', 'isv.invalid-signature-type');
  allowed('format', ['', 'JSON', 'json'].includes(text(form, 'format')), 'isv.invalid-format');
  allowed('version', mayLackVersion || text(form, 'version') === '1.0', 'isv.invalid-version');
  allowed('charset', charsetOf(text(form, 'charset')) !== undefined, 'isv.invalid-charset');
  allowed('method', methods.has(text(form, 'method')), 'isv.invalid-method');
}

/** Signature timestamps are judged by real time: the simulated clock is for what happens at the channel. */
function checkTimestamp(timestamp: string): void {
  const at = readChinaTime(timestamp);
  if (at === undefined || Math.abs(at - Date.now()) > WINDOW_MS) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-timestamp',
      'timestamp is not a time within 15 minutes of now, UTC+8.',
      false,
    );
  }
}

/** Certificate mode is on when either serial is sent; then both must be right. */
function checkSerials(form: RawForm, account: AlipayAccount): boolean {
  const app = text(form, 'app_cert_sn');
  const root = text(form, 'alipay_root_cert_sn');
  if (app === '' && root === '') return false;
  if (app !== account.appCertSerial)
    throw new AlipayRefusal('40002', 'isv.invalid-app-cert-sn', 'app_cert_sn is not of this app.');
  if (root !== account.rootCertSerial) {
    throw new AlipayRefusal('40002', 'isv.invalid-alipay-root-cert-sn', 'alipay_root_cert_sn is not of the root file.');
  }
  return true;
}

/** What was asked for; a member that is empty was not given: clients write every member of their models (smartwalle/alipay, trade_type.go). */
function contentOf(json: string): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(json, (_name, value: unknown) => (isEmpty(value) ? undefined : value));
    if (typeof content === 'object' && content !== null && !Array.isArray(content))
      return content as Record<string, unknown>;
  } catch {
    // Answered below, like anything else that is not an object.
  }
  throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'biz_content is not a JSON object.');
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null;
}

function addressOf(form: RawForm, name: string): string | null {
  const url = text(form, name);
  if (url === '') return null;
  if (url.length > 256 || !/^https?:\/\//.test(url)) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-parameter',
      `${name} is an http(s) address of at most 256 characters.`,
    );
  }
  return url;
}

function text({ values }: RawForm, name: string): string {
  return values.get(name)?.toString('utf8') ?? '';
}
