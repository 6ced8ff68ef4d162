import { isIP } from 'node:net';
import { OutgoingFailed, type OutgoingFault, type SenderOptions, addressGuard, readUrl } from './sender.ts';

/** The reason why the sender would refuse a URL: a stable code, and a text to be appended to the name of the field. */
export interface UrlFault {
  code: 'https_required' | 'address_refused' | 'url_invalid';
  detail: string;
}

/** Checks a URL with the rules of the sender. Host names are not resolved, because their addresses may change. */
export type UrlRule = (url: string) => UrlFault | undefined;

/** Creates the check for URLs before they are stored. The sender applies the same rules to every request. */
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

/** Returns undefined for a host name. `localhost` counts as 127.0.0.1, because it always means this machine. */
function addressIn({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return host;
  return /(^|\.)localhost\.?$/.test(host) ? '127.0.0.1' : undefined;
}
