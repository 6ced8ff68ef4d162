import { TransportFailed, type CertsDownloaded, type ChannelInput } from '../../payments/channel.ts';
import { readCertificatePems, SealNotOpened } from './certificates.ts';
import { createSender } from './client.ts';
import { certificatesRequest } from './requests.ts';
import { KINDS, readSettings } from './settings.ts';

const PUBLIC_KEYS_ONLY =
  'This merchant has no platform certificates: WeChat Pay public keys verify. Fetch pub_key.pem and its ID by hand in the merchant platform (Account center, API security).';
const OWN_CERTIFICATE =
  'The merchant certificate is not handed out by the API: renew it by hand in the merchant platform (Account center, API security) before it expires.';

/** Fetches the platform certificates: opened with the APIv3 key, signed by one of them or by a public key that is trusted. */
export async function downloadWechatCerts(input: ChannelInput): Promise<CertsDownloaded> {
  const settings = readSettings(input);
  const send = createSender(settings, input.send, input.now);
  try {
    const answer = await send(certificatesRequest());
    if (answer.status === 404) return { ok: true, certs: [], byHand: PUBLIC_KEYS_ONLY };
    const pems = readCertificatePems(answer, settings, input.now());
    return { ok: true, certs: pems.map((pem) => ({ kind: KINDS.platformCert, pem })), byHand: OWN_CERTIFICATE };
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The download failed.';
    if (error instanceof SealNotOpened) return { ok: false, field: 'apiV3Key', code: 'SEAL_NOT_OPENED', message };
    const code = error instanceof TransportFailed ? error.why : 'not_genuine';
    return { ok: false, field: null, code, message };
  }
}
