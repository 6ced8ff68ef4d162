import type { Scenario, Shot } from './load.ts';
import { CALL, type Caller, PAYMENT, type Stage } from './stage.ts';

/** Token, query and pay: what a merchant's server does all day. */
export function merchantScenarios({ service, bare }: Pick<Stage, 'service' | 'bare'>): Scenario[] {
  return [
    { name: 'token', aim: 0.8, ours: token(service), bare: token(bare) },
    { name: 'query', aim: 0.7, ours: query(service, service.closedOrder), bare: query(bare, bare.closedOrder) },
    { name: 'query paid', aim: 0.7, ours: query(service, service.paidOrder), bare: query(bare, bare.paidOrder) },
    { name: 'pay', aim: 0.6, ours: pay(service), bare: pay(bare) },
  ];
}

function token({ url, clientId, secret }: Caller): Shot {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  return {
    url: `${url}/oauth/token`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
    status: 200,
  };
}

function query({ url, token: bearer }: Caller, orderNo: string): Shot {
  const headers = { authorization: `Bearer ${bearer}` };
  return { url: `${url}/api/v2/payment/query/${orderNo}`, method: 'GET', headers, status: 200 };
}

function pay({ url, token: bearer }: Caller): Shot {
  return {
    url: `${url}/api/v2/payment/pay`,
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(PAYMENT),
    status: 201,
  };
}

/** Pay-per-call: the first call, which is an offer, and the repeat of a call that was paid and given. */
export function skillpayScenarios({ service, bare }: Pick<Stage, 'service' | 'bare'>): Scenario[] {
  return [
    { name: 'offer', ours: call(service, 402), bare: call(bare, 402) },
    { name: 'redeem', ours: call(service, 200), bare: call(bare, 200) },
  ];
}

function call({ url, token: bearer, givenOffer }: Caller, status: 200 | 402): Shot {
  const headers: Record<string, string> = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  if (status === 200) headers['x-out-trade-no'] = givenOffer;
  return { url: `${url}/api/v2/skillpay/resource`, method: 'POST', headers, body: JSON.stringify(CALL), status };
}
