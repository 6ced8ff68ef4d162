import {
  verdictOf,
  type ProbeCheck,
  type ProbeNote,
  type ProbeResult,
  type ProbeWish,
} from '../../payments/channel.ts';
import { credentialChecks, passed, traced, wanting, type Fault, type Subject } from '../checks.ts';
import type { SendSigned } from './client.ts';
import { readCertificates, SealNotOpened } from './certificates.ts';
import { complaintChecks, untestedComplaints } from './complaint-notices.ts';
import { productChecks, untestedProducts, type Prober } from './products.ts';
import { isAboutTime, type Reply } from './reply.ts';
import { certificatesRequest, queryRequest } from './requests.ts';
import { KINDS, type Settings } from './settings.ts';

/** An order that nobody has: our own numbers never look like this. */
const NOBODYS_ORDER = 'probe0000000000';

/** Asks for an order that does not exist and for the certificates, which moves nothing; then, if it is wished, tries the products. */
export async function probe(prober: Prober, { products }: ProbeWish = {}): Promise<ProbeResult> {
  const credentials = await testCredentials(prober);
  const isUsable = credentials.every(({ status }) => status !== 'failed');
  const notices = isUsable ? await traced(() => complaintChecks(prober)) : untestedComplaints(prober);
  if (!products) return verdictOf([...credentials, ...notices]);
  const rest = isUsable ? await productChecks(prober, products) : untestedProducts(prober.settings, products);
  return verdictOf([...credentials, ...notices, ...rest]);
}

async function testCredentials({ settings, ask, send, now }: Prober): Promise<ProbeCheck[]> {
  let fault: Fault;
  const asked = await traced(async () => {
    fault = faultOf(await ask(queryRequest(settings, { orderNo: NOBODYS_ORDER })), settings);
    return credentialChecks('WeChat Pay', subjectsOf(settings), fault);
  });
  // A wrong APIv3 key shows first as a certificate that cannot be fetched.
  const isHeard = !fault || fault.code === 'serial_unknown';
  const sealed = isHeard ? await traced(async () => [await testApiV3Key(settings, send, now)]) : [untriedSeal];
  const isSealAtFault = sealed.some(({ status }) => status === 'failed');
  return isSealAtFault ? [...asked.map(unlessOk), ...sealed] : [...asked, ...sealed];
}

const APIV3_KEY = 'APIv3 key';
const untriedSeal = wanting('credential', APIV3_KEY, 'unproven', {
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
    if (error instanceof SealNotOpened)
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
