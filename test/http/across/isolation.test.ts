import test from 'ava';
import { scopes } from '../../../server/domain.ts';
import { firstAdmin } from '../../support/admin.ts';
import { disputed } from '../../support/disputes.ts';
import { payOrder } from '../../support/orders.ts';
import { allRoutes } from '../../support/routes.ts';
import { startService, type Answer, type Merchant } from '../../support/service.ts';
import { addSkill, offerSkill } from '../../support/skillpay.ts';
import { fingerprints } from '../../support/tables.ts';

/** A request that names an object of another owner; `owner` is the kind of that owner. */
interface ProjectScope {
  owner: 'app' | 'project';
  /** The existing object, by its name below. */
  what: 'order' | 'refund' | 'dispute' | 'event' | 'offer' | 'user' | 'coin' | 'cert';
  ask(caller: Merchant, id: string): Promise<Answer>;
}

const get =
  (path: (id: string) => string): ProjectScope['ask'] =>
  (caller, id) =>
    caller.call('GET', path(id));
const post =
  (path: (id: string) => string, body?: (id: string) => unknown): ProjectScope['ask'] =>
  (caller, id) =>
    caller.call('POST', path(id), body?.(id));

/** Every operation of `/api/v2` with an id in its path. A channel name is not an id: it means the caller's own configuration. */
const BY_PATH: Record<string, ProjectScope> = {
  'GET /api/v2/payment/query/{orderNo}': {
    owner: 'app',
    what: 'order',
    ask: get((id) => `/api/v2/payment/query/${id}`),
  },
  'GET /api/v2/payment/orders/{orderNo}/explain': {
    owner: 'app',
    what: 'order',
    ask: get((id) => `/api/v2/payment/orders/${id}/explain`),
  },
  'GET /api/v2/payment/orders/{orderNo}/timeline': {
    owner: 'app',
    what: 'order',
    ask: get((id) => `/api/v2/payment/orders/${id}/timeline`),
  },
  'POST /api/v2/payment/close/{orderNo}': {
    owner: 'app',
    what: 'order',
    ask: post((id) => `/api/v2/payment/close/${id}`),
  },
  'POST /api/v2/payment/capture/{orderNo}': {
    owner: 'app',
    what: 'order',
    ask: post((id) => `/api/v2/payment/capture/${id}`),
  },
  'GET /api/v2/payment/refunds/{refundNo}': {
    owner: 'app',
    what: 'refund',
    ask: get((id) => `/api/v2/payment/refunds/${id}`),
  },
  'GET /api/v2/payment/disputes/{disputeNo}': {
    owner: 'app',
    what: 'dispute',
    ask: get((id) => `/api/v2/payment/disputes/${id}`),
  },
  'POST /api/v2/events/{id}/resend': { owner: 'app', what: 'event', ask: post((id) => `/api/v2/events/${id}/resend`) },
  'GET /api/v2/skillpay/query/{outTradeNo}': {
    owner: 'app',
    what: 'offer',
    ask: get((id) => `/api/v2/skillpay/query/${id}`),
  },
  'GET /api/v2/users/{userId}': { owner: 'project', what: 'user', ask: get((id) => `/api/v2/users/${id}`) },
  'PUT /api/v2/users/{userId}': {
    owner: 'project',
    what: 'user',
    ask: (caller, id) => caller.call('PUT', `/api/v2/users/${id}`, { nickname: 'Stolen' }),
  },
  'GET /api/v2/coins/{code}/balance': {
    owner: 'project',
    what: 'coin',
    ask: get((id) => `/api/v2/coins/${id}/balance?userId=payer-1`),
  },
  'GET /api/v2/coins/{code}/entries': {
    owner: 'project',
    what: 'coin',
    ask: get((id) => `/api/v2/coins/${id}/entries?userId=payer-1`),
  },
  'POST /api/v2/coins/{code}/debit': {
    owner: 'project',
    what: 'coin',
    ask: post(
      (id) => `/api/v2/coins/${id}/debit`,
      () => ({ userId: 'payer-1', amount: 1, bizNo: 'theft-1' }),
    ),
  },
  'POST /api/v2/certs/{id}/default': {
    owner: 'project',
    what: 'cert',
    ask: post((id) => `/api/v2/certs/${id}/default`),
  },
  'POST /api/v2/certs/{id}/delete': { owner: 'project', what: 'cert', ask: post((id) => `/api/v2/certs/${id}/delete`) },
  'POST /api/v2/certs/{id}/download': {
    owner: 'project',
    what: 'cert',
    ask: post((id) => `/api/v2/certs/${id}/download`),
  },
};

/** Operations that name an object in their body or in a header. */
const BY_BODY: Record<string, ProjectScope> = {
  'POST /api/v2/payment/refund': {
    owner: 'app',
    what: 'order',
    ask: post(
      () => '/api/v2/payment/refund',
      (orderNo) => ({ orderNo, refundAmount: 1 }),
    ),
  },
  'POST /api/v2/skillpay/refund': {
    owner: 'app',
    what: 'offer',
    ask: post(
      () => '/api/v2/skillpay/refund',
      (outTradeNo) => ({ outTradeNo }),
    ),
  },
  'POST /api/v2/skillpay/resource': {
    owner: 'app',
    what: 'offer',
    ask: (caller, id) =>
      caller.call('POST', '/api/v2/skillpay/resource', { resource: 'weather' }, { 'x-out-trade-no': id }),
  },
};

const NOTHING = { cert: '00000000-0000-4000-8000-000000000000', user: 'nobody', coin: 'no-such-coin' } as const;

test('every operation of /api/v2 with an id is in the table of this test', async (t) => {
  const withId = (await allRoutes())
    .filter(({ path }) => path.startsWith('/api/v2/') && path.includes('{') && !path.includes('{payWay}'))
    .map(({ method, path }) => `${method} ${path}`);
  t.deepEqual(Object.keys(BY_PATH).toSorted(), withId.toSorted());
});

test('G15: an object of another owner is answered exactly like a missing one, whatever the scopes', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  t.is((await admin.call('POST', '/api/v1/projects', { code: 'other', name: 'Other' })).status, 201);
  const all = { scopes: [...scopes].filter((scope) => scope !== 'admin'), trusted: true };
  const owner = await service.merchant(all);
  const strangers = {
    'the same project': await service.merchant(all),
    'the same project, admin': await service.merchant({ scopes: ['admin'], trusted: true }),
    'another project': await service.merchant({ ...all, project: 'other' }),
    'another project, admin': await service.merchant({ scopes: ['admin'], trusted: true, project: 'other' }),
  };
  await addSkill(service);
  const order = await payOrder(service, owner, { amount: 10, userId: 'payer-1', merchantOrderNo: 'mine-1' });
  // A late notification of the refund would be counted as a change made by the request.
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const refunded = await owner.call('POST', '/api/v2/payment/refund', {
    orderNo: order,
    refundAmount: 1,
    merchantRefundNo: 'my-refund',
  });
  const disputedOrder = await payOrder(service, owner, { payWay: 'paypal' });
  const disputeNo = await disputed(service, disputedOrder, 'open', 'open');
  t.is((await admin.call('POST', '/api/v1/coins', { code: 'gold', name: 'Gold' })).status, 201);
  const given = { userId: 'payer-1', amount: 5, reason: 'A gift' };
  t.is((await admin.call('POST', '/api/v1/coins/gold/adjustments', given)).status, 201);
  const { body: certs } = await owner.call('POST', '/api/v2/certs/list', {});
  const exists: Record<ProjectScope['what'], string> = {
    order,
    refund: refunded.body.data.refundNo,
    dispute: disputeNo,
    event: (await owner.call('GET', '/api/v2/events?types=order.paid')).body.data[0].id,
    offer: await offerSkill(owner),
    user: 'payer-1',
    coin: 'gold',
    cert: certs.data[0].id,
  };
  const before = await fingerprints(service);
  let compared = 0;
  for (const [operation, { owner: whose, what, ask }] of [...Object.entries(BY_PATH), ...Object.entries(BY_BODY)]) {
    for (const [who, stranger] of Object.entries(strangers)) {
      if (whose === 'project' && who.startsWith('the same')) continue;
      const [theirs, nothing] = [
        await ask(stranger, exists[what]),
        await ask(stranger, nothingLike(what, exists[what])),
      ];
      t.is(theirs.status, 404, `${operation}, ${who}: ${JSON.stringify(theirs.body)}`);
      t.deepEqual(same(theirs), same(nothing), `${operation}, ${who}`);
      compared += 1;
    }
  }
  t.deepEqual(await fingerprints(service), before, 'nothing was changed');
  for (const [who, stranger] of Object.entries(strangers)) {
    for (const path of ['payment/orders', 'payment/refunds', 'payment/disputes', 'events'].map(
      (end) => `/api/v2/${end}`,
    ))
      t.deepEqual((await stranger.call('GET', path)).body.data, [], `${path}, ${who}`);
    const filtered = await stranger.call('GET', '/api/v2/payment/orders?merchantOrderNo=mine-1');
    t.deepEqual(filtered.body.data, [], who);
  }
  t.is((await owner.call('GET', `/api/v2/payment/query/${order}`)).status, 200, 'its owner sees it');
  t.log(`${compared} comparisons over ${Object.keys(BY_PATH).length + Object.keys(BY_BODY).length} operations`);
});

test('G15: an app reads the channel configuration of its own project', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  await admin.call('POST', '/api/v1/projects', { code: 'other', name: 'Other' });
  const [ours, theirs] = [
    await service.merchant({ trusted: true, scopes: ['admin'] }),
    await service.merchant({ trusted: true, scopes: ['admin'], project: 'other' }),
  ];
  for (const shop of [ours, theirs])
    for (const payWay of ['alipay', 'wechat', 'paypal'])
      await shop.call('POST', '/api/v2/payment/pay', { subject: 'x', amount: 1, payWay });
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    const seen = await Promise.all([ours, theirs].map((shop) => shop.call('GET', `/api/v2/payment/config/${payWay}`)));
    t.deepEqual(
      seen.map(({ body }) => body.data.project),
      ['default', 'other'],
    );
    t.not(seen[0]?.body.data.account, seen[1]?.body.data.account);
    const closed = await theirs.call('PUT', `/api/v2/payment/config/${payWay}/toggle`, { enabled: false });
    t.is(closed.status, 200);
    t.is((await ours.call('GET', `/api/v2/payment/config/${payWay}`)).body.data.enabled, true);
  }
});

/** A well-formed id of the same kind that does not exist. */
function nothingLike(what: ProjectScope['what'], id: string): string {
  if (what === 'cert' || what === 'user' || what === 'coin') return NOTHING[what];
  return id.slice(0, -6) + '000000';
}

/** An answer without the members that differ between any two answers. */
function same({ status, headers, body }: Answer) {
  const { requestId, ...rest } = body as Record<string, unknown>;
  const kept = [...headers.entries()].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return { status, body: rest, hasRequestId: typeof requestId === 'string', headers: kept };
}
