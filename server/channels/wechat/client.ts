import { randomBytes } from 'node:crypto';
import type { Download, Transport, WireAnswer, WireFile } from '../../payments/channel.ts';
import { createAccessPoint } from './access-point.ts';
import type { Judge } from './genuine.ts';
import { readReply, unknownFrom, type Reply } from './reply.ts';
import type { Call } from './requests.ts';
import type { Settings } from './settings.ts';
import { requestText, signRsa, writeAuthorization } from './signature.ts';

/** Sends a call and reads its answer; never throws. */
export type Ask = (call: Call) => Promise<Reply>;

/** Signs and sends a call, with the answer left as it came; throws TransportFailed. */
export type SendSigned = (call: Call) => Promise<WireAnswer>;

/** Downloads what WeChat Pay named an address for, signed like a call; throws TransportFailed. */
export type DownloadSigned = (url: URL) => Promise<WireFile>;

/** Signs the request for a file; whether the address is WeChat Pay's is for the caller to know. */
export function createDownloader(settings: Settings, download: Download, now: () => Date): DownloadSigned {
  return async (url) => {
    const about = { call: 'bill file' };
    const authorization = await authorize(settings, { method: 'GET', target: url.pathname + url.search, about }, now());
    const headers = { accept: '*/*', 'user-agent': 'unified-payment-service', authorization };
    return download({ method: 'GET', url: url.href, headers, about });
  };
}

/** Signs every call with the merchant key, a fresh nonce and `now`; the host is not part of what is signed. */
export function createSender(settings: Settings, send: Transport, now: () => Date): SendSigned {
  const { publicKeyIds, base } = settings;
  const root = new URL(base).pathname.replace(/\/$/, '');
  const accessPoint = createAccessPoint(settings, now);
  return async (call) => {
    const { method, target, body, form, about } = call;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': 'unified-payment-service',
      authorization: await authorize(settings, { ...call, target: root + target }, now()),
    };
    if (body !== undefined) headers['content-type'] = form?.contentType ?? 'application/json';
    // Without it an answer may be signed by a platform certificate while keys are being switched.
    if (publicKeyIds[0]) headers['wechatpay-serial'] = publicKeyIds[0];
    const point = accessPoint.current();
    try {
      return await send({ method, url: point + target, headers, body, about, ...(form ? { bytes: form.bytes } : {}) });
    } catch (error) {
      accessPoint.failed(point, error);
      throw error;
    }
  };
}

/** Asks WeChat Pay: sends once and reads the answer with the judge. */
export function createAsk(send: SendSigned, judge: Judge): Ask {
  return async (call) => {
    try {
      return await readReply(await send(call), judge);
    } catch (error) {
      return unknownFrom(error);
    }
  };
}

async function authorize(settings: Settings, { method, target, body = '' }: Call, now: Date): Promise<string> {
  const { mchid, merchantSerial: serial, merchantKey } = settings;
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const nonce = randomBytes(16).toString('hex');
  const signature = await signRsa(requestText({ method, target, timestamp, nonce, body }), merchantKey);
  return writeAuthorization({ mchid, nonce, timestamp, serial, signature });
}
