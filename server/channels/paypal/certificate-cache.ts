import { NoticeNotGenuine, TransportFailed } from '../../payments/channel.ts';
import type { FetchBudget, Transport, WireAnswer } from '../../payments/channel.ts';
import {
  CertificateRefused,
  isCertificateUrl,
  type JudgedKey,
  judgeKey,
  publicRoots,
  type Trust,
} from './certificates.ts';
import type { PaypalSettings } from './settings.ts';

/** A key that came from one of PayPal's own addresses, and whether it also leads to a root. */
export type WebhookKey = Pick<JudgedKey, 'key' | 'isChained'>;

/** Finds the key that a webhook names by the address of its certificate, fetched if the budget allows it; throws NoticeNotGenuine. */
export type FindWebhookKey = (certificateUrl: string, budget?: FetchBudget) => Promise<WebhookKey>;

interface Kept {
  result: WebhookKey | { refused: string };
  until: number;
}

const LARGEST = 64 * 1024;
const KEEP_MS = 24 * 3600 * 1000;
/** PayPal may add what is missing. */
const KEEP_UNCHAINED_MS = 3600 * 1000;
const REFUSE_AGAIN_MS = 60 * 1000;
const MOST_KEPT = 50;
const MOST_AT_ONCE = 4;

/**
 * Fetches webhook certificates from PayPal's own addresses only, one request per address at a time; good ones are kept
 * for a day at most, bad ones refused for a minute without asking again.
 */
export function createCertificateCache(settings: PaypalSettings, send: Transport, now: () => Date): FindWebhookKey {
  const kept = new Map<string, Kept>();
  const fetching = new Map<string, Promise<Kept>>();
  const { mode, apiUrl, intermediates, simulatorRoots } = settings;
  const roots = mode === 'simulator' ? () => simulatorRoots : publicRoots;

  return async (url, budget) => {
    if (!isCertificateUrl(url, mode, apiUrl)) {
      throw new NoticeNotGenuine('serial_unknown', 'The certificate URL is not a PayPal URL.');
    }
    const found = kept.get(url);
    const { result } = found && now().getTime() < found.until ? found : await fetchOnce(url, budget);
    if ('refused' in result) throw new NoticeNotGenuine('signature_invalid', result.refused);
    return result;
  };

  function fetchOnce(url: string, budget: FetchBudget | undefined): Promise<Kept> {
    const running = fetching.get(url);
    if (running) return running;
    if (fetching.size >= MOST_AT_ONCE || budget?.isLeft() === false)
      throw new NoticeNotGenuine('busy', 'Too many webhook certificates are being fetched.');
    const started = fetchAndJudge(url).finally(() => fetching.delete(url));
    void started.then(
      ({ result }) => ('refused' in result ? budget?.spend() : undefined),
      () => budget?.spend(),
    );
    fetching.set(url, started);
    return started;
  }

  /** Anybody can make us look for certificates that do not exist: those go first, and never a good one for their sake. */
  function leastWorth(): string {
    const urls = [...kept.keys()];
    return urls.find((url) => 'refused' in (kept.get(url)?.result ?? {})) ?? urls[0] ?? '';
  }

  async function fetchAndJudge(url: string): Promise<Kept> {
    const answer = await fetchCertificate(send, url);
    const at = now();
    const entry = judge(answer, { roots: roots(), intermediates }, at);
    kept.delete(url);
    kept.set(url, entry);
    if (kept.size > MOST_KEPT) kept.delete(leastWorth());
    return entry;
  }
}

async function fetchCertificate(send: Transport, url: string): Promise<WireAnswer> {
  const about = { call: 'certificate' };
  const answer = await sendOrFail(() => send({ method: 'GET', url, headers: { accept: '*/*' }, about }));
  const { status, body } = answer;
  if (status >= 300 && status < 400) throw new NoticeNotGenuine('redirected', 'The certificate URL redirects.');
  if (status !== 200 && status !== 404)
    throw new NoticeNotGenuine('http_status', `The certificate URL returned HTTP ${status}.`);
  if (body.length > LARGEST) throw new NoticeNotGenuine('too_large', 'The certificate file is too large.');
  return answer;
}

async function sendOrFail(send: () => Promise<WireAnswer>): Promise<WireAnswer> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof TransportFailed) throw new NoticeNotGenuine(error.why, 'The certificate cannot be fetched.');
    throw error;
  }
}

function judge({ status, body }: WireAnswer, trust: Trust, at: Date): Kept {
  const soon = at.getTime() + REFUSE_AGAIN_MS;
  if (status !== 200) return { result: { refused: 'The certificate does not exist.' }, until: soon };
  try {
    const { until, ...result } = judgeKey(body.toString('latin1'), trust, at);
    const keep = result.isChained ? KEEP_MS : KEEP_UNCHAINED_MS;
    return { result, until: Math.min(at.getTime() + keep, until.getTime()) };
  } catch (error) {
    if (!(error instanceof CertificateRefused)) throw error;
    return { result: { refused: error.message }, until: soon };
  }
}
