import type { ProbeResult } from '../../payments/channel.ts';
import { KINDS, type AlipayKeys } from './keys.ts';
import type { Reply, Said } from './reply.ts';
import { QR_PRODUCTS } from './creates.ts';
import { chinaTime, queryCall, type AlipayCall } from './requests.ts';
import { blamedField, CODE, NOT_EXIST, saysNoProduct } from './status.ts';

/** Our own numbers never begin like this. */
const NOBODYS = 'probe';
/** Five minutes: the shortest life of a code that Alipay recommends. */
const CODE_MS = 5 * 60_000;

/** What a test call needs: how to ask, with which keys and QR product. */
export interface Prober {
  ask: (call: AlipayCall) => Promise<Reply>;
  keys: Pick<AlipayKeys, 'certificateMode'>;
  qrProductCode: string;
  now: () => Date;
}

/** A signed "no such trade" proves both keys, the app id and the way there; then it is tried whether QR codes are allowed. */
export async function probe(prober: Prober): Promise<ProbeResult> {
  const reply = await prober.ask(queryCall({ orderNo: `${NOBODYS}0` }));
  if (reply.kind === 'said') {
    const verdict = probeSaid(reply.said);
    return verdict.ok ? probeProducts(prober) : verdict;
  }
  const { cause, detail, subCode } = reply;
  if (subCode) return { ok: false, field: blamedField(subCode), code: subCode, message: detail };
  const byVerifyKey = cause === 'signature_invalid' || cause === 'serial_unknown';
  const verifyKey = prober.keys.certificateMode ? KINDS.publicCert : KINDS.publicKey;
  return { ok: false, field: byVerifyKey ? verifyKey : null, code: cause, message: detail };
}

function probeSaid({ code, subCode, message }: Said): ProbeResult {
  if (code === CODE.ok || subCode === NOT_EXIST) return { ok: true };
  return { ok: false, field: blamedField(subCode), code: subCode || code, message };
}

/**
 * Has codes made that nobody ever sees: there is no trade before one is scanned. A merchant may do without QR codes, so a product
 * that is missing is told and is no failure; whatever else is answered says nothing about products.
 */
async function probeProducts({ ask, qrProductCode, now }: Prober): Promise<ProbeResult> {
  const used = qrProductCode || QR_PRODUCTS[0];
  const refusalOf = async (product: string) => {
    const reply = await ask(unseenCode(product, now()));
    const isRefused = reply.kind === 'said' && saysNoProduct(reply.said);
    return isRefused ? reply.said.subCode : undefined;
  };
  const code = await refusalOf(used);
  if (code === undefined) return { ok: true };
  const other = QR_PRODUCTS.find((product) => product !== used)!;
  const remedy =
    (await refusalOf(other)) === undefined
      ? `It has signed for ${other}: set qrProductCode to ${other}.`
      : `Sign for ${QR_PRODUCTS.join(' or ')} at Alipay, or use other scenes.`;
  const message = `QR codes are refused: the merchant has not signed for the product ${used}. ${remedy}`;
  return { ok: true, note: { field: 'qrProductCode', code, message } };
}

function unseenCode(product: string, now: Date): AlipayCall {
  const content = {
    out_trade_no: `${NOBODYS}_${product}_${now.getTime()}`,
    total_amount: '0.10',
    subject: 'Test of the configuration',
    product_code: product,
    time_expire: chinaTime(new Date(now.getTime() + CODE_MS)),
  };
  return { method: 'alipay.trade.precreate', content };
}
