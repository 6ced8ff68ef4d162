import type { CertsDownloaded, ChannelInput } from '../../payments/channel.ts';
import { createAlipay } from './channel.ts';
import { KINDS } from './keys.ts';

const KEY_MODE = "Key mode has no certificates: copy Alipay's public key by hand from the console of the app.";
const BY_HAND =
  'The first public certificate, the root certificates and the app certificate are fetched by hand in the console of the app; only the public certificate that follows one that is trusted can be downloaded, by its serial.';

/** Has Alipay sign an answer: the certificate whose serial it names is downloaded and proven, unless it is known. */
export async function downloadAlipayCerts(input: ChannelInput): Promise<CertsDownloaded> {
  if (!input.pems[KINDS.appCert]?.length) return { ok: true, certs: [], byHand: KEY_MODE };
  const certs: { kind: string; pem: string }[] = [];
  const channel = createAlipay({ ...input, keep: (kind, pem) => void certs.push({ kind, pem }) });
  const tested = await channel.probe();
  if (!tested.ok) return { ok: false, field: tested.field, code: tested.code, message: tested.message };
  return { ok: true, certs, byHand: BY_HAND };
}
