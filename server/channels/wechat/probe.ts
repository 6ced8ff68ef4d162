/** The test of a configuration: its credentials, and the products that are opened. */
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

/** What a test needs: the account, and the two ways to ask. */
interface Prober {
  settings: Settings;
  ask: Ask;
  send: SendSigned;
  mode: Mode;
  notifyUrl: string | undefined;
  now: () => Date;
}

/** The products as the merchant platform calls them. */
const NAMES: Readonly<Partial<Record<Scene, string>>> = {
  qr: 'Native (qr)',
  h5: 'H5 (h5)',
  jsapi: 'JSAPI (jsapi)',
  mini: 'JSAPI (mini)',
  app: 'App (app)',
  code: 'Payment code (code)',
};

/** Two minutes, of which the channel asks for one. */
const LIFE_MS = 120_000;

/** No openid has such a sign, so no order can be made for it. */
const NOBODY = 'nobody@test';

/**
 * Makes an order of 0.10 in each product and closes it at once. Nobody can pay it: its code, address or number is given to
 * nobody. Where an order needs a payer (jsapi, mini, code) none is made, because that payer could pay it.
 */
async function productChecks(prober: Prober, scenes: readonly Scene[]): Promise<ProbeCheck[]> {
  const { settings } = prober;
  const apps = await Promise.all(
    appsOf(settings, scenes).map(([appId, field]) => traced(async () => [await testApp(prober, appId, field)])),
  );
  const products = await Promise.all(scenes.map((scene) => traced(async () => [await testProduct(prober, scene)])));
  return [...apps.flat(), ...products.flat()];
}

/** The same, when the credentials do not work. */
function untestedProducts(settings: Settings, scenes: readonly Scene[]): ProbeCheck[] {
  const apps = appsOf(settings, scenes).map(([appId]) => notReached('credential', appName(appId)));
  return [...apps, ...scenes.map((scene) => notReached('product', nameOf(scene)))];
}

/** Every app of the scenes, with the field that names it. */
function appsOf(settings: Settings, scenes: readonly Scene[]): [appId: string, field: string][] {
  return [...new Map(scenes.flatMap((scene) => appsOfScene(settings, scene)))];
}

/** The apps of a scene, of a partner and of its sub-merchant. */
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

/** A native order is refused for an app that is not linked, whatever kind of app it is. */
async function testApp(prober: Prober, appId: string, field: string): Promise<ProbeCheck> {
  const name = appName(appId);
  const said = await tryOrder(prober, 'qr', appId);
  if (said.kind === 'made') return passed('credential', name, 'Linked to the merchant number.');
  if (said.kind === 'refused' && isAboutApp(said.refused)) return unlinked('credential', name, field, said.refused);
  const message = 'Cannot be tested without Native payments, which are not refused for the app itself.';
  return wanting('credential', name, 'unproven', {
    message,
    code: said.kind === 'refused' ? said.refused.code : said.cause,
  });
}

async function testProduct(prober: Prober, scene: Scene): Promise<ProbeCheck> {
  const name = nameOf(scene);
  if (scene === 'code') return wanting('product', name, 'unproven', { message: NO_HARMLESS_CODE });
  const [appId = prober.settings.appId] = appIdsOf(prober.settings, scene);
  const said = await tryOrder(prober, scene, appId);
  if (said.kind === 'made') return passed('product', name, said.left);
  if (said.kind === 'silent') return wanting('product', name, 'failed', { code: said.cause, message: said.detail });
  const { code, message } = said.refused;
  // "NO_AUTH": the product is not opened ("商户号该产品权限未开通", among the codes of every create).
  if (code === 'NO_AUTH')
    return wanting('product', name, 'failed', {
      code,
      message: `The merchant has not opened this product: Product center of the merchant platform. WeChat Pay says: ${message}`,
    });
  if (isAboutApp(said.refused)) {
    const field = appsOfScene(prober.settings, scene).find(([one]) => one === appId)?.[1] ?? 'appId';
    return unlinked('product', name, field, said.refused);
  }
  if (needsPayer(scene) && /openid/i.test(`${message} ${said.refused.code}`))
    return wanting('product', name, 'unproven', { code, message: NO_HARMLESS_PAYER });
  return wanting('product', name, 'failed', { code, message });
}

const NO_HARMLESS_CODE =
  'Nothing harmless proves it: an order needs the code of a payer, who would pay. Pay a small amount with your own phone, and refund it.';
const NO_HARMLESS_PAYER =
  'WeChat Pay refuses only the payer, whom the test invents: neither the app nor the product. One small payment of your own proves it.';

function isAboutApp({ code }: Refused): boolean {
  return /^APPID_(?:MCHID_NOT_MATCH|NOT_EXIST)$/.test(code);
}

function unlinked(about: ProbeCheck['about'], name: string, field: string, { code, message }: Refused): ProbeCheck {
  const remedy =
    'Link the app ID to the merchant number in the merchant platform (Product center, App ID accounts), or correct it.';
  return wanting(about, name, 'failed', { field, code, message: `${remedy} WeChat Pay says: ${message}` });
}

function needsPayer(scene: Scene): boolean {
  return scene === 'jsapi' || scene === 'mini';
}

type Tried =
  | { kind: 'made'; left: string | null }
  | { kind: 'refused'; refused: Refused }
  | { kind: 'silent'; cause: string; detail: string };

/** Makes an order and closes it, also when nothing was said about whether it was made. */
async function tryOrder({ settings, ask, notifyUrl, now }: Prober, scene: Scene, appId: string): Promise<Tried> {
  const order = unseenOrder(scene, appId, notifyUrl, now());
  if (!PRODUCTS[scene]) return { kind: 'silent', cause: 'scene_unknown', detail: `WeChat Pay has no scene ${scene}.` };
  const reply = await ask(placeRequest(settings, order));
  if (reply.kind === 'refused') return { kind: 'refused', refused: reply };
  const closed = await ask(closeRequest(settings, { orderNo: order.orderNo }));
  if (reply.kind === 'unknown') return { kind: 'silent', cause: reply.cause, detail: reply.detail };
  const isClosed = closed.kind === 'said' || (closed.kind === 'refused' && closed.code === 'ORDER_CLOSED');
  const left = `The order ${order.orderNo} of the test could not be closed; nobody has it, and it ends at ${order.expiresAt.toISOString()}.`;
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
    openId: NOBODY,
    appId,
    payCode: null,
    options: {},
  };
}

/** An order that nobody has: our own numbers never look like this. */
const NOBODYS_ORDER = 'probe0000000000';

/** Asks for an order that does not exist and for the certificates, which moves nothing; then, if it is wished, tries the products. */
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
  const asked = await traced(async () => {
    fault = faultOf(await ask(queryRequest(settings, { orderNo: NOBODYS_ORDER })), settings);
    return credentialChecks('WeChat Pay', subjectsOf(settings), fault);
  });
  // A wrong APIv3 key shows first as a certificate that cannot be fetched.
  const isReceived = !fault || fault.code === 'serial_unknown';
  const encrypted = isReceived
    ? await traced(async () => [await testApiV3Key(settings, send, now)])
    : [untriedDecryption];
  const isDecryptionAtFault = encrypted.some(({ status }) => status === 'failed');
  return isDecryptionAtFault ? [...asked.map(unlessOk), ...encrypted] : [...asked, ...encrypted];
}

const APIV3_KEY = 'APIv3 key';
const untriedDecryption = wanting('credential', APIV3_KEY, 'unproven', {
  message: 'Not tested: what is wrong above comes first.',
});

/** Without the APIv3 key no certificate can be fetched, so nothing else is proven to be wrong. */
function unlessOk(check: ProbeCheck): ProbeCheck {
  if (check.status !== 'failed') return check;
  return wanting('credential', check.name, 'unproven', { message: 'Cannot be tested without the right APIv3 key.' });
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

/** Merchants with public keys only are answered 404 there, so only a seal that does not open says that the key is wrong. */
async function testApiV3Key(settings: Settings, send: SendSigned, now: () => Date): Promise<ProbeCheck> {
  try {
    readCertificates(await send(certificatesRequest()), settings, now());
    return passed('credential', APIV3_KEY, 'It opens the platform certificates.');
  } catch (error) {
    if (error instanceof AnswerNotDecrypted)
      return wanting('credential', APIV3_KEY, 'failed', wrong('apiV3Key', 'SEAL_NOT_OPENED', error.message));
    const why = error instanceof Error ? error.message : 'The download failed.';
    const message = `There are no platform certificates to open with it (${why}), as for merchants who have public keys only. The first notification of a payment proves it.`;
    return wanting('credential', APIV3_KEY, 'unproven', { message });
  }
}

function faultOf(reply: Reply, settings: Settings): Fault {
  if (reply.kind === 'said') return undefined;
  if (reply.kind === 'unknown') return wrong(fieldOfDoubt(reply.cause, settings), reply.cause, reply.detail);
  const { status, code, message } = reply;
  if (code === 'ORDER_NOT_EXIST') return undefined;
  if (status === 401) return wrong(fieldOfSignError(message, settings), code || 'SIGN_ERROR', message);
  // Whether somebody is a partner, and of whom, WeChat Pay says about the sub-merchant.
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

/** The channel's keys are ours to know: a signature that does not verify is a wrong or missing verify key. */
function fieldOfDoubt(cause: string, { publicKeyIds }: Settings): string | null {
  const usesPublicKey = publicKeyIds.length > 0;
  if (cause === 'signature_invalid') return usesPublicKey ? KINDS.publicKey : KINDS.platformCert;
  if (cause === 'serial_unknown') return usesPublicKey ? 'publicKeyId' : KINDS.platformCert;
  return null;
}

function wrong(field: string | null, code: string, message: string): ProbeNote {
  return { field, code, message };
}
