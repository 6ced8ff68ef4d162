/** Tests a configuration: its ids, keys and certificates, and the merchant's contracts for Alipay products. */
import { randomBytes } from 'node:crypto';
import { type ProbeCheck, type ProbeResult, type ProbeRequest, type Scene, verdictOf } from '../../payments/channel.ts';
import {
  type Fault,
  type Subject,
  sharedCall,
  credentialChecks,
  notReached,
  passed,
  traced,
  wanting,
} from '../checks.ts';
import { CODE, NOT_EXIST, type Reply, type SignedAnswer, blamedField, saysNoProduct } from './reply.ts';
import { type AlipayCall, QR_PRODUCTS, type Seller, cancelCall, chinaTime, compact, queryCall } from './requests.ts';
import { type AlipayKeys, KINDS } from './settings.ts';

/** The lifetime of the test's QR code: five minutes, the shortest that Alipay recommends. */
const CODE_MS = 5 * 60_000;

/** A payer id for tests. No payer has this id, so no order can be created for it. */
const INVENTED_PAYER = 'nobody@test';

interface Prober extends Seller {
  request: (call: AlipayCall) => Promise<Reply>;
  keys: Pick<AlipayKeys, 'certificateMode'>;
  now: () => Date;
}

/** Returns Alipay's response to the creation of a test QR code for a product. No payer sees the code. */
type UnseenCodes = (product: string) => Promise<Reply>;

/** Creates and cancels one test QR code per product. All checks of the same product share one response. */
function unseenCodes(prober: Prober): UnseenCodes {
  const made = new Map<string, () => Promise<Reply>>();
  return (product) => {
    const code = made.get(product) ?? sharedCall(() => tryAndCancel(prober, unseenCode(prober, product)));
    made.set(product, code);
    return code();
  };
}

/** The test needs no payer: it uses a QR code that is never shown, or an order for a payer that does not exist. */
async function productChecks(prober: Prober, codes: UnseenCodes, scenes: readonly Scene[]): Promise<ProbeCheck[]> {
  const test = (scene: Scene) => traced(async () => [await testProduct(prober, codes, scene)]);
  return (await Promise.all(scenes.map(test))).flat();
}

function qrProductOf({ qrProductCode }: Pick<Prober, 'qrProductCode'>): string {
  return qrProductCode || QR_PRODUCTS[0];
}

function productName(scene: Scene, qrProductCode: string): string {
  const words: Readonly<Partial<Record<Scene, string>>> = {
    qr: `QR codes, ${qrProductOf({ qrProductCode })}`,
    code: `Payer's code, ${QR_PRODUCTS[0]}`,
    jsapi: 'Pages in Alipay, JSAPI_PAY',
    mini: 'Mini programs, JSAPI_PAY',
    page: 'Web pages, FAST_INSTANT_TRADE_PAY',
    wap: 'Mobile pages, QUICK_WAP_WAY',
    app: 'Apps, QUICK_MSECURITY_PAY',
  };
  return `${words[scene] ?? 'Product'} (${scene})`;
}

/**
 * Returns the error code if the response means that the merchant has no contract for the product. Returns undefined for
 * any other response.
 */
function productRefusal(reply: Reply): string | undefined {
  return reply.kind === 'answered' && saysNoProduct(reply.answer)
    ? reply.answer.subCode || reply.answer.code
    : undefined;
}

/** The call that creates a test QR code. Alipay creates no trade before a payer scans the code. */
function unseenCode({ sellerId, now }: Pick<Prober, 'sellerId' | 'now'>, product: string): AlipayCall {
  return { method: 'alipay.trade.precreate', content: { ...unseenOrder(sellerId, now()), product_code: product } };
}

function unseenOrder(sellerId: string, now: Date): Record<string, unknown> {
  return compact<unknown>({
    out_trade_no: `probe_${now.getTime()}_${randomBytes(4).toString('hex')}`,
    total_amount: '0.10',
    subject: 'Test of the configuration',
    seller_id: sellerId,
    time_expire: chinaTime(new Date(now.getTime() + CODE_MS)),
  });
}

/**
 * Tests the seller id, if there is one. Alipay refuses the test QR code if the app has no right to collect money for
 * the seller.
 */
function sellerChecks(prober: Prober, codes: UnseenCodes): Promise<ProbeCheck[]> {
  return traced(async () => (prober.sellerId ? [await testSeller(prober, codes)] : []));
}

async function testSeller(prober: Prober, codes: UnseenCodes): Promise<ProbeCheck> {
  const name = 'Seller ID';
  const reply = await codes(qrProductOf(prober));
  if (reply.kind === 'answered' && reply.answer.code === CODE.ok) return passed('credential', name);
  if (reply.kind !== 'answered')
    return wanting('credential', name, 'unproven', { code: reply.cause, message: reply.detail });
  const { subCode, code, message } = reply.answer;
  const isBlamed = blamedField(subCode) === 'sellerId';
  const why = isBlamed ? message : `Cannot be tested without QR codes: ${message}`;
  const note = { field: isBlamed ? 'sellerId' : null, code: subCode || code, message: why };
  return wanting('credential', name, isBlamed ? 'failed' : 'unproven', note);
}

async function testProduct(prober: Prober, codes: UnseenCodes, scene: Scene): Promise<ProbeCheck> {
  const name = productName(scene, prober.qrProductCode);
  const reply = await tryScene(prober, codes, scene);
  if (!reply) return wanting('product', name, 'unproven', { message: NEEDS_PAYMENT });
  if (reply.kind !== 'answered')
    return wanting('product', name, 'failed', { code: reply.cause, message: reply.detail });
  const { code, subCode, message } = reply.answer;
  if (code === CODE.ok) return passed('product', name);
  if (saysNoProduct(reply.answer)) {
    const remedy =
      scene === 'qr'
        ? `Sign the contract at Alipay, or set qrProductCode to ${QR_PRODUCTS.join(' or ')}.`
        : 'Sign the contract at Alipay.';
    return wanting('product', name, 'failed', {
      field: scene === 'qr' ? 'qrProductCode' : null,
      code: subCode || code,
      message: `The merchant has no contract for this product. ${remedy} Alipay's message: ${message}`,
    });
  }
  const isForPayer = scene === 'jsapi' || scene === 'mini';
  if (isForPayer && subCode === 'ACQ.INVALID_PARAMETER')
    return wanting('product', name, 'unproven', { code: subCode, message: NO_HARMLESS_PAYER });
  return wanting('product', name, 'failed', { field: blamedField(subCode), code: subCode || code, message });
}

const NEEDS_PAYMENT =
  'It cannot be tested without a payment: Alipay is first called when a payer opens the payment. Open one of a small amount yourself.';
const NO_HARMLESS_PAYER =
  'Alipay refused only the invented payer of the test, not the product. Make one small payment yourself to prove it.';

/** Returns undefined if the test needs a payer. Payments by payer's code need the same product as QR codes. */
async function tryScene(prober: Prober, codes: UnseenCodes, scene: Scene): Promise<Reply | undefined> {
  if (scene === 'qr') return codes(qrProductOf(prober));
  if (scene === 'code') return codes(QR_PRODUCTS[0]);
  if (scene !== 'jsapi' && scene !== 'mini') return undefined;
  const { sellerId, miniAppId, now } = prober;
  const payer = { op_app_id: miniAppId, buyer_open_id: INVENTED_PAYER, product_code: 'JSAPI_PAY' };
  const content = { ...unseenOrder(sellerId, now()), ...payer };
  return tryAndCancel(prober, { method: 'alipay.trade.create', content });
}

/**
 * Sends a create call and cancels the order unless Alipay refused it. If no payer has scanned the QR code, Alipay
 * responds to the cancel that there is no trade.
 */
async function tryAndCancel({ request }: Prober, call: AlipayCall): Promise<Reply> {
  const reply = await request(call);
  const isRefused = reply.kind === 'answered' && reply.answer.code !== CODE.ok;
  if (!isRefused) await request(cancelCall({ orderNo: String(call.content['out_trade_no']) }));
  return reply;
}

/** The number of an order that does not exist: the service never creates a number that begins with `probe`. */
const UNKNOWN_ORDER = 'probe0';

/**
 * Tests a configuration. A signed "no such trade" response proves both keys, the app id and the connection. Then the
 * test checks the product of QR codes or, if `products` is given, those products that can be tested without a payer.
 */
export async function probe(prober: Prober, { products }: ProbeRequest = {}): Promise<ProbeResult> {
  let isUsable = false;
  const credentials = await traced(async () => {
    const fault = await testCredentials(prober);
    isUsable = !fault;
    return credentialChecks('Alipay', subjectsOf(prober), fault);
  });
  if (!isUsable) {
    const names = products?.map((scene) => notReached('product', productName(scene, prober.qrProductCode)));
    return verdictOf([...credentials, ...(names ?? [])]);
  }
  const codes = unseenCodes(prober);
  const rest = products ? await productChecks(prober, codes, products) : await testQrCodes(prober, codes);
  return verdictOf([...credentials, ...(await sellerChecks(prober, codes)), ...rest]);
}

function subjectsOf({ keys: { certificateMode } }: Prober): Subject[] {
  return [
    { name: 'App ID', fields: ['appId'] },
    { name: 'App private key', fields: [KINDS.appKey] },
    ...(certificateMode
      ? [
          { name: 'App certificate', fields: [KINDS.appCert] },
          { name: "Alipay's root certificates", fields: [KINDS.rootCert] },
          { name: "Alipay's public certificate", fields: [KINDS.publicCert] },
        ]
      : [{ name: "Alipay's public key", fields: [KINDS.publicKey] }]),
  ];
}

async function testCredentials({ request, keys }: Prober): Promise<Fault> {
  const reply = await request(queryCall({ orderNo: UNKNOWN_ORDER }));
  if (reply.kind === 'answered') return faultIn(reply.answer);
  const { cause, detail, subCode } = reply;
  if (subCode) return { field: blamedField(subCode), code: subCode, message: detail };
  const byVerifyKey = cause === 'signature_invalid' || cause === 'serial_unknown';
  const verifyKey = keys.certificateMode ? KINDS.publicCert : KINDS.publicKey;
  return { field: byVerifyKey ? verifyKey : null, code: cause, message: detail };
}

function faultIn({ code, subCode, message }: SignedAnswer): Fault {
  if (code === CODE.ok || subCode === NOT_EXIST) return undefined;
  return { field: blamedField(subCode), code: subCode || code, message };
}

function unclear(name: string, reply: Reply): ProbeCheck {
  const { code, message } =
    reply.kind === 'answered' ? refusalOf(reply.answer) : { code: reply.cause, message: reply.detail };
  return wanting('product', name, 'unproven', { code, message });
}

function refusalOf({ code, subCode, message }: SignedAnswer) {
  return { code: subCode || code, message };
}

/** A missing contract is `lacking` and not `failed`, because not every merchant needs QR codes. */
function testQrCodes(prober: Prober, codes: UnseenCodes): Promise<ProbeCheck[]> {
  const used = qrProductOf(prober);
  return traced(async () => {
    const name = productName('qr', used);
    const reply = await codes(used);
    const refusal = productRefusal(reply);
    if (!refusal)
      return [
        reply.kind === 'answered' && reply.answer.code === CODE.ok ? passed('product', name) : unclear(name, reply),
      ];
    const other = QR_PRODUCTS.find((product) => product !== used)!;
    const isOtherRefused = productRefusal(await codes(other)) !== undefined;
    const remedy = isOtherRefused
      ? `Sign a contract for ${QR_PRODUCTS.join(' or ')} at Alipay, or use other scenes.`
      : `It has a contract for ${other}: set qrProductCode to ${other}.`;
    const message = `QR codes are refused: the merchant has no contract for the product ${used}. ${remedy}`;
    return [wanting('product', name, 'lacking', { field: 'qrProductCode', code: refusal, message })];
  });
}
