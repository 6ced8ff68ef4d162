import type { Ask, Baseline, Scenario, Shot } from './load.ts';
import { type App, CALL, type Caller, PAYMENT, type Stage } from './stage.ts';

/** The minimum speed relative to the previous release. */
const KEPT = 0.97;

/** Whether every request has the same key, or the requests have those of ten applications and, for queries, sixty orders. */
export type Spread = 'one' | 'many';

/** The number of connections at which the slowest hundredth has an aim. */
const MANY_CONNECTIONS = 32;

/** The requests of an application, one for each of its keys, and the aims beside the bare program by the number of connections. */
interface Call {
  name: string;
  asks(app: App): Ask[];
  aims: Readonly<Record<number, number>>;
  tail?: number;
}

/** The common calls of a merchant's server, and pay-per-call: an offer, and the repeat of a paid and delivered call. */
const CALLS: readonly Call[] = [
  { name: 'token', asks: (app) => [token(app)], aims: { 8: 0.9, 32: 1.2 }, tail: 1.3 },
  { name: 'query', asks: queryClosed, aims: { 8: 0.9, 32: 1.1 }, tail: 1.3 },
  {
    name: 'query paid',
    asks: (app) => app.paidOrders.map((orderNo) => query(app, orderNo)),
    aims: { 8: 0.9, 32: 1.1 },
    tail: 1.3,
  },
  { name: 'pay', asks: (app) => [pay(app)], aims: { 8: 0.9, 32: 0.9 } },
  { name: 'offer', asks: (app) => [call(app, 402)], aims: { 8: 0.8, 32: 0.8 } },
  { name: 'redeem', asks: (app) => [call(app, 200)], aims: { 8: 0.85, 32: 0.85 } },
];

/** Every call with every number of connections and each kind of keys. Only many keys have aims, because one key flatters. */
export function scenarios(
  { service, bare, before }: Pick<Stage, 'service' | 'bare' | 'before'>,
  connections: readonly number[],
  kinds: readonly Spread[],
): (Scenario & { call: string })[] {
  // The services query the channel about every unpaid order, each at its own pace, and open offers are counted. So the orders of
  // earlier rounds end before the next one.
  const putOff = async () => {
    for (const { sql } of before ? [service, before] : [service])
      await sql(
        `update orders set state = 'closed', closed_at = now(), next_check_at = null
          where state = 'pending' and next_check_at is not null`,
      );
  };
  const beside = ({ asks, aims, tail }: Call, many: number, keys: Spread): Baseline[] => {
    const aim = keys === 'many' ? aims[many] : undefined;
    const most = keys === 'many' && many === MANY_CONNECTIONS ? tail : undefined;
    return [
      { of: 'bare', shot: shotOf(bare, asks, keys), ...(aim && { aim }), ...(most && { tail: most }) },
      ...(before ? [{ of: 'before' as const, shot: shotOf(before, asks, keys), aim: KEPT }] : []),
    ];
  };
  return CALLS.flatMap((each) =>
    connections.flatMap((many) =>
      kinds.map((keys) => ({
        call: each.name,
        name: `${each.name}, ${keys === 'one' ? 'one key' : 'many keys'}`,
        connections: many,
        ours: shotOf(service, each.asks, keys),
        baselines: beside(each, many, keys),
        putOff,
      })),
    ),
  );
}

/** The requests of a program's first application and key, or of all. */
export function shotOf(caller: Caller, asks: (app: App) => Ask[], keys: Spread): Shot {
  const all = caller.apps.flatMap(asks);
  return { caller, asks: keys === 'one' ? all.slice(0, 1) : all };
}

/** A token request of an application. */
export function token({ clientId, secret }: App): Ask {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const headers = { 'content-type': 'application/json' };
  return { path: '/oauth/token', method: 'POST', headers, body: JSON.stringify(grant), status: 200 };
}

/** The queries of an application's closed orders. */
export function queryClosed(app: App): Ask[] {
  return app.closedOrders.map((orderNo) => query(app, orderNo));
}

function query({ token: bearer }: App, orderNo: string): Ask {
  const headers = { authorization: `Bearer ${bearer}` };
  return { path: `/api/v2/payment/query/${orderNo}`, method: 'GET', headers, status: 200 };
}

/** A payment through the channel. */
export function pay({ token: bearer }: App): Ask {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  return { path: '/api/v2/payment/pay', method: 'POST', headers, body: JSON.stringify(PAYMENT), status: 201 };
}

function call({ token: bearer, givenOffer }: App, status: 200 | 402): Ask {
  const headers: Record<string, string> = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  if (status === 200) headers['x-out-trade-no'] = givenOffer;
  return { path: '/api/v2/skillpay/resource', method: 'POST', headers, body: JSON.stringify(CALL), status };
}
