import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';
import type { Scenery } from './present.ts';

/** Base address of the simulated REST API. */
export function apiUrlOf({ url }: Pick<Core, 'url'>): string {
  return `${url}/paypal`;
}

/** The addresses and the payee that go with a trade. */
export function sceneryOf(core: Core, trade: Trade): Scenery {
  return {
    apiUrl: apiUrlOf(core),
    payerUrl: core.payUrl(trade),
    merchantId: String(
      trade.details['merchantId'] ?? core.accounts.get('paypal', trade.account)?.secrets['merchantId'] ?? '',
    ),
    linkName: trade.details['linkName'] === 'approve' ? 'approve' : 'payer-action',
  };
}
