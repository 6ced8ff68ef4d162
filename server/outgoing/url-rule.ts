import { isIP } from 'node:net';
import { OutgoingFailed, type OutgoingFault, type SenderOptions, addressGuard, readUrl } from './sender.ts';

/** Why a URL will never be called, in a stable word and as the rest of a sentence about it. */
export interface UrlFault {
  code: 'https_required' | 'address_refused' | 'url_invalid';
  detail: string;
}

/** Says whether the sender would call a URL, without asking for its name: what a name stands for may change. */
export type UrlRule = (url: string) => UrlFault | undefined;

/** Makes the rule by which URLs are saved; it is the sender's own. */
export function createUrlRule({ allowedNetworks, httpsOnly }: SenderOptions): UrlRule {
  const mayReach = addressGuard(allowedNetworks);
  return (text) => {
    try {
      const address = addressIn(readUrl(text, httpsOnly));
      return address === undefined || mayReach(address) ? undefined : FAULTS.address_refused;
    } catch (error) {
      if (error instanceof OutgoingFailed) return FAULTS[error.why];
      throw error;
    }
  };
}

const FAULTS: Partial<Record<OutgoingFault, UrlFault>> = {
  scheme_refused: { code: 'https_required', detail: 'must be an https URL' },
  address_refused: {
    code: 'address_refused',
    detail: 'must not lead to a private address that Webhook.AllowedNetworks does not allow',
  },
  url_invalid: { code: 'url_invalid', detail: 'must be a URL without a username or password' },
};

/** The address that a URL names outright; `localhost` is one that resolvers must not ask for. */
function addressIn({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return host;
  return /(^|\.)localhost\.?$/.test(host) ? '127.0.0.1' : undefined;
}
