import { verdictOf, type ProbeCheck, type ProbeResult, type ProbeWish } from '../../payments/channel.ts';
import { credentialChecks, notReached, passed, traced, wanting, type Fault, type Subject } from '../checks.ts';
import { QR_PRODUCTS } from './creates.ts';
import { KINDS } from './keys.ts';
import {
  productChecks,
  productName,
  productRefusal,
  qrProductOf,
  sellerChecks,
  unseenCodes,
  type Prober,
  type UnseenCodes,
} from './products.ts';
import type { Reply, Said } from './reply.ts';
import { queryCall } from './requests.ts';
import { blamedField, CODE, NOT_EXIST } from './status.ts';

/** Our own numbers never begin like this. */
const NOBODYS = 'probe0';

/**
 * A signed "no such trade" proves both keys, the app id and the way there. Then it is tried whether QR codes are allowed and, if it
 * is wished, what else can be tried without a payer.
 */
export async function probe(prober: Prober, { products }: ProbeWish = {}): Promise<ProbeResult> {
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

async function testCredentials({ ask, keys }: Prober): Promise<Fault> {
  const reply = await ask(queryCall({ orderNo: NOBODYS }));
  if (reply.kind === 'said') return faultIn(reply.said);
  const { cause, detail, subCode } = reply;
  if (subCode) return { field: blamedField(subCode), code: subCode, message: detail };
  const byVerifyKey = cause === 'signature_invalid' || cause === 'serial_unknown';
  const verifyKey = keys.certificateMode ? KINDS.publicCert : KINDS.publicKey;
  return { field: byVerifyKey ? verifyKey : null, code: cause, message: detail };
}

function faultIn({ code, subCode, message }: Said): Fault {
  if (code === CODE.ok || subCode === NOT_EXIST) return undefined;
  return { field: blamedField(subCode), code: subCode || code, message };
}

function unclear(name: string, reply: Reply): ProbeCheck {
  const { code, message } = reply.kind === 'said' ? saidOf(reply.said) : { code: reply.cause, message: reply.detail };
  return wanting('product', name, 'unproven', { code, message });
}

function saidOf({ code, subCode, message }: Said) {
  return { code: subCode || code, message };
}

/** A merchant may do without QR codes, so a product that is missing is told and is no failure; other answers say nothing about it. */
function testQrCodes(prober: Prober, codes: UnseenCodes): Promise<ProbeCheck[]> {
  const used = qrProductOf(prober);
  return traced(async () => {
    const name = productName('qr', used);
    const reply = await codes(used);
    const refusal = productRefusal(reply);
    if (!refusal)
      return [reply.kind === 'said' && reply.said.code === CODE.ok ? passed('product', name) : unclear(name, reply)];
    const other = QR_PRODUCTS.find((product) => product !== used)!;
    const isOtherRefused = productRefusal(await codes(other)) !== undefined;
    const remedy = isOtherRefused
      ? `Sign for ${QR_PRODUCTS.join(' or ')} at Alipay, or use other scenes.`
      : `It has signed for ${other}: set qrProductCode to ${other}.`;
    const message = `QR codes are refused: the merchant has not signed for the product ${used}. ${remedy}`;
    return [wanting('product', name, 'lacking', { field: 'qrProductCode', code: refusal, message })];
  });
}
