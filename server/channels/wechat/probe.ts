import type { ProbeResult } from '../../payments/channel.ts';
import type { Ask, SendSigned } from './client.ts';
import { readCertificates, SealNotOpened } from './certificates.ts';
import { isAboutTime, type Reply } from './reply.ts';
import { certificatesRequest, queryRequest } from './requests.ts';
import { KINDS, type Settings } from './settings.ts';

/** An order that nobody has: our own numbers never look like this. */
const NOBODYS_ORDER = 'probe0000000000';

/** Asks for an order that does not exist and for the certificates; harmless, and says which credential is wrong. */
export async function probe(settings: Settings, ask: Ask, send: SendSigned, now: () => Date): Promise<ProbeResult> {
  const reply = await ask(queryRequest(settings, { orderNo: NOBODYS_ORDER }));
  const verdict = judgeQuery(reply, settings);
  // A wrong APIv3 key shows first as a certificate that cannot be fetched.
  const isHeard = verdict.ok || verdict.code === 'serial_unknown';
  const sealed = isHeard ? await probeApiV3Key(settings, send, now) : undefined;
  return sealed ?? verdict;
}

/** Merchants with public keys only are answered 404 there, so everything but a seal that does not open passes. */
async function probeApiV3Key(settings: Settings, send: SendSigned, now: () => Date): Promise<ProbeResult | undefined> {
  try {
    readCertificates(await send(certificatesRequest()), settings, now());
  } catch (error) {
    if (error instanceof SealNotOpened) return wrong('apiV3Key', 'SEAL_NOT_OPENED', error.message);
  }
  return undefined;
}

function judgeQuery(reply: Reply, settings: Settings): ProbeResult {
  if (reply.kind === 'said') return { ok: true };
  if (reply.kind === 'unknown') return wrong(fieldOfDoubt(reply.cause, settings), reply.cause, reply.detail);
  const { status, code, message } = reply;
  if (code === 'ORDER_NOT_EXIST') return { ok: true };
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

function wrong(field: string | null, code: string, message: string): ProbeResult {
  return { ok: false, field, code, message };
}
