/** Tests a configuration: its ids, keys and certificates, and the products that the merchant has opened. */
import { randomBytes } from 'node:crypto';
import {
  type Mode,
  type PlaceOrder,
  type ProbeCheck,
  type ProbeNote,
  type ProbeResult,
  type ProbeRequest,
  type Scene,
  verdictOf,
} from '../../payments/channel.ts';
import { type Fault, type Subject, credentialChecks, notReached, passed, traced, wanting } from '../checks.ts';
import { AnswerNotDecrypted, readCertificates } from './answers.ts';
import { complaintChecks, untestedComplaints } from './notification.ts';
import { type Ask, type Refused, type Reply, type SendSigned, isAboutTime } from './reply.ts';
import { PRODUCTS, certificatesRequest, closeRequest, placeRequest, queryRequest } from './requests.ts';
import { KINDS, type Settings, appIdsOf } from './settings.ts';

interface Prober {
  settings: Settings;
  ask: Ask;
  send: SendSigned;
  mode: Mode;
  notifyUrl: string | undefined;
  now: () => Date;
}

/** The names of the products. The word in parentheses is this service's name for the scene (way to pay). */
const NAMES: Readonly<Partial<Record<Scene, string>>> = {
  qr: 'Native (qr)',
  h5: 'H5 (h5)',
  jsapi: 'JSAPI (jsapi)',
  mini: 'JSAPI (mini)',
  app: 'App (app)',
  code: 'Payment code (code)',
};

/** The lifetime of a test order: two minutes. WeChat Pay requires at least one minute. */
const LIFE_MS = 120_000;

/** A payer id for tests. No openid contains `@`, so no order can be created for it. */
const INVENTED_PAYER = 'nobody@test';

/**
 * Tests the products: creates an order of 0.10 CNY in each scene (way to pay) and closes it at once. No payer gets the
 * code or URL of the order, so it cannot be paid. The scenes `jsapi` and `mini` use a payer that does not exist. The
 * scene `code` (the merchant scans the payer's code) is not tested, because it needs the code of a real payer.
 */
async function productChecks(prober: Prober, scenes: readonly Scene[]): Promise<ProbeCheck[]> {
  const { settings } = prober;
  const apps = await Promise.all(
    appsOf(settings, scenes).map(([appId, field]) => traced(async () => [await testApp(prober, appId, field)])),
  );
  const products = await Promise.all(scenes.map((scene) => traced(async () => [await testProduct(prober, scene)])));
  return [...apps.flat(), ...products.flat()];
}

function untestedProducts(settings: Settings, scenes: readonly Scene[]): ProbeCheck[] {
  const apps = appsOf(settings, scenes).map(([appId]) => notReached('credential', appName(appId)));
  return [...apps, ...scenes.map((scene) => notReached('product', nameOf(scene)))];
}

function appsOf(settings: Settings, scenes: readonly Scene[]): [appId: string, field: string][] {
  return [...new Map(scenes.flatMap((scene) => appsOfScene(settings, scene)))];
}

function appsOfScene({ appId, sceneAppIds, sub }: Settings, scene: Scene): [appId: string, field: string][] {
  const suffix = `${scene.slice(0, 1).toUpperCase()}${scene.slice(1)}`;
  const named = (field: string, own: readonly string[] = [], usual?: string): [string, string][] => {
    if (own.length > 0) return own.map((one) => [one, `${field}${suffix}`]);
    return usual === undefined ? [] : [[usual, field]];
  };
  return [...named('appId', sceneAppIds[scene], appId), ...named('subAppId', sub?.sceneAppIds[scene], sub?.appId)];
}

function appName(appId: string): string {
  return `App ID ${appId}`;
}

function nameOf(scene: Scene): string {
  return NAMES[scene] ?? scene;
}

/**
 * WeChat Pay refuses an order for a QR code (Native) if the app id is not linked to the merchant, whatever the type of
 * the app.
 */
async function testApp(prober: Prober, appId: string, field: string): Promise<ProbeCheck> {
  const name = appName(appId);
  const tried = await tryOrder(prober, 'qr', appId);
  if (tried.kind === 'made') return passed('credential', name, 'Linked to the merchant number.');
  if (tried.kind === 'refused' && isAboutApp(tried.refused)) return unlinked('credential', name, field, tried.refused);
  const message = 'Cannot be tested: the Native order of the test failed, but not because of the app ID.';
  return wanting('credential', name, 'unproven', {
    message,
    code: tried.kind === 'refused' ? tried.refused.code : tried.cause,
  });
}

async function testProduct(prober: Prober, scene: Scene): Promise<ProbeCheck> {
  const name = nameOf(scene);
  if (scene === 'code') return wanting('product', name, 'unproven', { message: NO_HARMLESS_CODE });
  const [appId = prober.settings.appId] = appIdsOf(prober.settings, scene);
  const tried = await tryOrder(prober, scene, appId);
  if (tried.kind === 'made') return passed('product', name, tried.left);
  if (tried.kind === 'silent') return wanting('product', name, 'failed', { code: tried.cause, message: tried.detail });
  const { code, message } = tried.refused;
  // NO_AUTH means that the merchant has not opened the product ("商户号该产品权限未开通", in the error codes of every create
  // call).
  if (code === 'NO_AUTH')
    return wanting('product', name, 'failed', {
      code,
      message: `The merchant has not opened this product. Open it in the Product center of the merchant platform. WeChat Pay's message: ${message}`,
    });
  if (isAboutApp(tried.refused)) {
    const field = appsOfScene(prober.settings, scene).find(([one]) => one === appId)?.[1] ?? 'appId';
    return unlinked('product', name, field, tried.refused);
  }
  if (needsPayer(scene) && /openid/i.test(`${message} ${tried.refused.code}`))
    return wanting('product', name, 'unproven', { code, message: NO_HARMLESS_PAYER });
  return wanting('product', name, 'failed', { code, message });
}

const NO_HARMLESS_CODE =
  'It cannot be tested without a payment: an order needs the code of a payer. Pay a small amount with your own phone, and refund it.';
const NO_HARMLESS_PAYER =
  'WeChat Pay refused only the invented payer of the test, neither the app nor the product. Make one small payment yourself to prove it.';

function isAboutApp({ code }: Refused): boolean {
  return /^APPID_(?:MCHID_NOT_MATCH|NOT_EXIST)$/.test(code);
}

function unlinked(about: ProbeCheck['about'], name: string, field: string, { code, message }: Refused): ProbeCheck {
  const remedy =
    'Link the app ID to the merchant number in the merchant platform (Product center, App ID accounts), or correct it.';
  return wanting(about, name, 'failed', { field, code, message: `${remedy} WeChat Pay's message: ${message}` });
}

function needsPayer(scene: Scene): boolean {
  return scene === 'jsapi' || scene === 'mini';
}

type Tried =
  | { kind: 'made'; left: string | null }
  | { kind: 'refused'; refused: Refused }
  | { kind: 'silent'; cause: string; detail: string };

/** Creates a test order and closes it. The order is also closed if the result of the create call is unknown. */
async function tryOrder({ settings, ask, notifyUrl, now }: Prober, scene: Scene, appId: string): Promise<Tried> {
  const order = unseenOrder(scene, appId, notifyUrl, now());
  if (!PRODUCTS[scene])
    return { kind: 'silent', cause: 'scene_unknown', detail: `WeChat Pay does not support the scene ${scene}.` };
  const reply = await ask(placeRequest(settings, order));
  if (reply.kind === 'refused') return { kind: 'refused', refused: reply };
  const closed = await ask(closeRequest(settings, { orderNo: order.orderNo }));
  if (reply.kind === 'unknown') return { kind: 'silent', cause: reply.cause, detail: reply.detail };
  const isClosed = closed.kind === 'answered' || (closed.kind === 'refused' && closed.code === 'ORDER_CLOSED');
  const left = `The order ${order.orderNo} of the test could not be closed; its code was not given out, and it expires at ${order.expiresAt.toISOString()}.`;
  return { kind: 'made', left: isClosed ? null : left };
}

function unseenOrder(scene: Scene, appId: string, notifyUrl: string | undefined, now: Date): PlaceOrder {
  return {
    orderNo: `probe${now.getTime().toString(36)}${randomBytes(6).toString('hex')}`,
    subject: 'Test of the configuration',
    amount: { minor: 10n, currency: 'CNY' },
    scene,
    expiresAt: new Date(now.getTime() + LIFE_MS),
    sentAt: now,
    notifyUrl: notifyUrl ?? 'https://example.invalid/',
    returnUrl: '',
    cancelUrl: '',
    clientIp: '127.0.0.1',
    openId: INVENTED_PAYER,
    appId,
    payCode: null,
    options: {},
  };
}

/** The number of an order that does not exist: the service never creates such a number. */
const UNKNOWN_ORDER = 'probe0000000000';

/**
 * Tests the configuration: queries an order that does not exist and downloads the certificates, which changes nothing
 * at WeChat Pay. If `products` is given, also tests whether the merchant can use these scenes (ways to pay).
 */
export async function probe(prober: Prober, { products }: ProbeRequest = {}): Promise<ProbeResult> {
  const credentials = await testCredentials(prober);
  const isUsable = credentials.every(({ status }) => status !== 'failed');
  const notifications = isUsable ? await traced(() => complaintChecks(prober)) : untestedComplaints(prober);
  if (!products) return verdictOf([...credentials, ...notifications]);
  const rest = isUsable ? await productChecks(prober, products) : untestedProducts(prober.settings, products);
  return verdictOf([...credentials, ...notifications, ...rest]);
}

async function testCredentials({ settings, ask, send, now }: Prober): Promise<ProbeCheck[]> {
  let fault: Fault;
  const queried = await traced(async () => {
    fault = faultOf(await ask(queryRequest(settings, { orderNo: UNKNOWN_ORDER })), settings);
    return credentialChecks('WeChat Pay', subjectsOf(settings), fault);
  });
  // `serial_unknown` may come from a wrong APIv3 key: without decrypted certificates every serial is unknown.
  const isReceived = !fault || fault.code === 'serial_unknown';
  const encrypted = isReceived
    ? await traced(async () => [await testApiV3Key(settings, send, now)])
    : [untriedDecryption];
  const isDecryptionAtFault = encrypted.some(({ status }) => status === 'failed');
  return isDecryptionAtFault ? [...queried.map(unlessOk), ...encrypted] : [...queried, ...encrypted];
}

const APIV3_KEY = 'APIv3 key';
const untriedDecryption = wanting('credential', APIV3_KEY, 'unproven', {
  message: 'Not tested, because an earlier check failed. Correct the cause of that failure first.',
});

/** With a wrong APIv3 key no certificate can be decrypted, so the key may also be the cause of other failed checks. */
function unlessOk(check: ProbeCheck): ProbeCheck {
  if (check.status !== 'failed') return check;
  return wanting('credential', check.name, 'unproven', { message: 'Not tested, because the APIv3 key is wrong.' });
}

function subjectsOf({ merchantSerialFrom, publicKeyIds, sub }: Settings): Subject[] {
  return [
    { name: 'Merchant number', fields: ['mchid'] },
    ...(sub ? [{ name: 'Sub-merchant number', fields: ['subMchId'] }] : []),
    { name: 'Merchant private key', fields: [KINDS.merchantKey] },
    { name: 'Serial of the merchant certificate', fields: [merchantSerialFrom] },
    publicKeyIds.length > 0
      ? { name: 'WeChat Pay public key', fields: [KINDS.publicKey, 'publicKeyId'] }
      : { name: 'Platform certificates', fields: [KINDS.platformCert] },
  ];
}

/** A merchant that uses only public keys gets HTTP 404 here, so the key is wrong only if the decryption fails. */
async function testApiV3Key(settings: Settings, send: SendSigned, now: () => Date): Promise<ProbeCheck> {
  try {
    readCertificates(await send(certificatesRequest()), settings, now());
    return passed('credential', APIV3_KEY, 'It decrypts the platform certificates.');
  } catch (error) {
    if (error instanceof AnswerNotDecrypted)
      return wanting('credential', APIV3_KEY, 'failed', wrong('apiV3Key', 'SEAL_NOT_OPENED', error.message));
    const why = error instanceof Error ? error.message : 'The download failed.';
    const message = `There are no platform certificates to decrypt with it (${why}); merchants with public keys only have none. The first notification of a payment proves it.`;
    return wanting('credential', APIV3_KEY, 'unproven', { message });
  }
}

function faultOf(reply: Reply, settings: Settings): Fault {
  if (reply.kind === 'answered') return undefined;
  if (reply.kind === 'unknown') return wrong(fieldOfDoubt(reply.cause, settings), reply.cause, reply.detail);
  const { status, code, message } = reply;
  if (code === 'ORDER_NOT_EXIST') return undefined;
  if (status === 401) return wrong(fieldOfSignError(message, settings), code || 'SIGN_ERROR', message);
  // If the partner may not act for the sub-merchant, WeChat Pay's message names the field of the sub-merchant's id.
  if (/sub_mch_?id/i.test(message)) return wrong('subMchId', code, message);
  if (code === 'NO_AUTH' && settings.sub) return wrong('subMchId', code, message);
  if (code === 'MCH_NOT_EXISTS' || code === 'NO_AUTH') return wrong('mchid', code, message);
  return wrong(code === 'PARAM_ERROR' && /mchid/i.test(message) ? 'mchid' : null, code || `HTTP_${status}`, message);
}

function fieldOfSignError(message: string, { merchantSerialFrom }: Settings): string | null {
  if (isAboutTime(message)) return null;
  if (/serial|序列号/i.test(message)) return merchantSerialFrom;
  return /mchid|商户号/i.test(message) ? 'mchid' : KINDS.merchantKey;
}

/** Returns the field or certificate kind that is probably wrong if a response could not be verified. */
function fieldOfDoubt(cause: string, { publicKeyIds }: Settings): string | null {
  const usesPublicKey = publicKeyIds.length > 0;
  if (cause === 'signature_invalid') return usesPublicKey ? KINDS.publicKey : KINDS.platformCert;
  if (cause === 'serial_unknown') return usesPublicKey ? 'publicKeyId' : KINDS.platformCert;
  return null;
}

function wrong(field: string | null, code: string, message: string): ProbeNote {
  return { field, code, message };
}
