import type { Scenario, Shot } from './load.ts';
import { CALL, type Caller, PAYMENT, type Stage } from './stage.ts';

/** The minimum speed relative to the previous release. */
const KEPT = 0.97;

/** The common calls of a merchant's server, and pay-per-call: an offer, and the repeat of a paid and delivered call. */
export function scenarios({ service, bare, before }: Pick<Stage, 'service' | 'bare' | 'before'>): Scenario[] {
  // The services query the channel about every unpaid order, each at its own pace, and open offers are counted. So the orders of
  // earlier rounds end before the next one.
  const putOff = async () => {
    for (const { sql } of before ? [service, before] : [service])
      await sql(
        `update orders set state = 'closed', closed_at = now(), next_check_at = null
          where state = 'pending' and next_check_at is not null`,
      );
  };
  const against = (name: string, shot: (caller: Caller) => Ask, aim?: number): Scenario[] => {
    const of = (caller: Caller): Shot => ({ ...shot(caller), pid: caller.pid });
    const ours = of(service);
    return [
      { name, of: 'bare', ...(aim && { aim }), ours, baseline: of(bare), putOff },
      ...(before ? [{ name, of: 'before' as const, aim: KEPT, ours, baseline: of(before), putOff }] : []),
    ];
  };
  return [
    ...against('token', token, 0.85),
    ...against('query', (caller) => query(caller, caller.closedOrder), 0.8),
    ...against('query paid', (caller) => query(caller, caller.paidOrder), 0.8),
    ...against('pay', pay, 0.9),
    ...against('offer', (caller) => call(caller, 402), 0.75),
    ...against('redeem', (caller) => call(caller, 200), 0.75),
  ];
}

/** A request to any program. */
export type Ask = Omit<Shot, 'pid'>;

/** A token request of an application. */
export function token({ url, clientId, secret }: Caller): Ask {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  return {
    url: `${url}/oauth/token`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
    status: 200,
  };
}

/** A query of an order's state. */
export function query({ url, token: bearer }: Caller, orderNo: string): Ask {
  const headers = { authorization: `Bearer ${bearer}` };
  return { url: `${url}/api/v2/payment/query/${orderNo}`, method: 'GET', headers, status: 200 };
}

/** A payment through the channel. */
export function pay({ url, token: bearer }: Caller): Ask {
  return {
    url: `${url}/api/v2/payment/pay`,
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(PAYMENT),
    status: 201,
  };
}

function call({ url, token: bearer, givenOffer }: Caller, status: 200 | 402): Ask {
  const headers: Record<string, string> = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  if (status === 200) headers['x-out-trade-no'] = givenOffer;
  return { url: `${url}/api/v2/skillpay/resource`, method: 'POST', headers, body: JSON.stringify(CALL), status };
}
