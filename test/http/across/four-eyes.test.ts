import test from 'ava';
import { scopes } from '../../../server/domain.ts';
import { as, type Call, firstAdmin, madeBy, madeOffline } from '../../support/admin.ts';
import { disputed } from '../../support/disputes.ts';
import { openMarket } from '../../support/market.ts';
import { refused } from '../../support/route-file.ts';
import { allRoutes } from '../../support/routes.ts';
import { enrol } from '../../support/second-factor.ts';
import { request, startService } from '../../support/service.ts';
import { addSkill, paidSkill } from '../../support/skillpay.ts';

/**
 * How each writing route is related to money that is refunded to a payer. A new route must be added here. `asks`: more than
 * `Approval.RefundAbove` waits for a second administrator. `decides`: that decision. `repeats`: sends a refund again that was approved
 * or needed no approval. `undoes`: refunds at most a payment by a payer's code that the service has not recorded yet. `takes`:
 * requests or captures a payment; only the service refunds a late payment. `hears`: queries or receives the channel's outcome, or
 * sends the channel a message; only the channel then decides about money. `none`: moves no money.
 */
const MONEY: Record<Kind, readonly string[]> = {
  asks: [
    'POST /api/v1/console/payment/refund',
    'POST /api/v1/disputes/{disputeNo}/accept',
    'POST /api/v1/exceptions/{id}/resolve',
    'POST /api/v1/orders/{orderNo}/refunds',
    'POST /api/v2/payment/refund',
    'POST /api/v2/skillpay/refund',
  ],
  decides: ['POST /api/v1/approvals/{refundNo}/approve'],
  repeats: ['POST /api/v1/refunds/{refundNo}/retry'],
  undoes: [
    'POST /api/v1/console/payment/close/{orderNo}',
    'POST /api/v1/orders/{orderNo}/close',
    'POST /api/v2/payment/close/{orderNo}',
  ],
  takes: [
    'POST /api/v1/console/payment/capture/{orderNo}',
    'POST /api/v1/console/payment/pay',
    'POST /api/v2/payment/capture/{orderNo}',
    'POST /api/v2/payment/pay',
    'POST /api/v2/skillpay/resource',
    'POST /pay/{orderNo}/choose/{payWay}',
  ],
  hears: [
    'POST /api/v1/bills',
    'POST /api/v1/bills/import',
    'POST /api/v1/bills/{billNo}/rerun',
    'POST /api/v1/disputes/{disputeNo}/answer',
    'POST /api/v1/disputes/{disputeNo}/finish',
    'POST /api/v1/orders/{orderNo}/sync',
    'POST /api/v1/refunds/{refundNo}/resolve',
    'POST /api/v1/refunds/{refundNo}/sync',
    'POST /notify/{payWay}/{project}',
  ],
  none: [
    'DELETE /api/v1/admins/{id}',
    'DELETE /api/v1/admins/{id}/sessions',
    'DELETE /api/v1/admins/{id}/sessions/{sessionId}',
    'DELETE /api/v1/api-apps/{client_id}',
    'DELETE /api/v1/api-apps/{client_id}/webhook',
    'DELETE /api/v1/bills/{billNo}/quiet',
    'DELETE /api/v1/coins/{code}',
    'DELETE /api/v1/me/sessions/{id}',
    'DELETE /api/v1/products/{code}',
    'DELETE /api/v1/projects/{code}',
    'DELETE /api/v1/skillpay/agent-pay',
    'DELETE /api/v1/users/{userId}',
    'DELETE /api/v2/webhook',
    'POST /api/v1/admins',
    'POST /api/v1/admins/{id}/reset-second-factor',
    'POST /api/v1/api-apps',
    'POST /api/v1/api-apps/{client_id}/revoke-tokens',
    'POST /api/v1/api-apps/{client_id}/rotate-secret',
    'POST /api/v1/api-apps/{client_id}/webhook/rotate-secret',
    'POST /api/v1/api-apps/{client_id}/webhook/test',
    'POST /api/v1/approvals/{refundNo}/reject',
    'POST /api/v1/bills/{billNo}/quiet',
    'POST /api/v1/certs/list',
    'POST /api/v1/certs/upload',
    'POST /api/v1/certs/{id}/default',
    'POST /api/v1/certs/{id}/delete',
    'POST /api/v1/certs/{id}/distrust',
    'POST /api/v1/certs/{id}/download',
    'POST /api/v1/certs/{id}/trust',
    'POST /api/v1/coins',
    'POST /api/v1/coins/{code}/adjustments',
    'POST /api/v1/events/{id}/resend',
    'POST /api/v1/login',
    'POST /api/v1/logout',
    'POST /api/v1/me/confirm',
    'POST /api/v1/me/password',
    'POST /api/v1/me/second-factor/confirm',
    'POST /api/v1/me/second-factor/recovery-codes',
    'POST /api/v1/me/second-factor/remove',
    'POST /api/v1/me/second-factor/start',
    'POST /api/v1/payment/config/{payWay}',
    'POST /api/v1/payment/config/{payWay}/certificates',
    'POST /api/v1/payment/config/{payWay}/notices',
    'POST /api/v1/payment/config/{payWay}/test',
    'POST /api/v1/products',
    'POST /api/v1/projects',
    'POST /api/v1/skillpay/agent-pay/test',
    'POST /api/v1/users',
    'POST /api/v2/certs/list',
    'POST /api/v2/certs/upload',
    'POST /api/v2/certs/{id}/default',
    'POST /api/v2/certs/{id}/delete',
    'POST /api/v2/certs/{id}/download',
    'POST /api/v2/coins/{code}/debit',
    'POST /api/v2/events/{id}/resend',
    'POST /api/v2/payment/config/{payWay}',
    'POST /api/v2/payment/config/{payWay}/certificates',
    'POST /api/v2/payment/config/{payWay}/notices',
    'POST /api/v2/payment/config/{payWay}/test',
    'POST /api/v2/users',
    'POST /api/v2/webhook/rotate-secret',
    'POST /api/v2/webhook/test',
    'POST /oauth/revoke',
    'POST /oauth/token',
    'PUT /api/v1/admins/{id}',
    'PUT /api/v1/admins/{id}/toggle',
    'PUT /api/v1/api-apps/{client_id}',
    'PUT /api/v1/api-apps/{client_id}/toggle',
    'PUT /api/v1/api-apps/{client_id}/webhook',
    'PUT /api/v1/coins/{code}',
    'PUT /api/v1/coins/{code}/toggle',
    'PUT /api/v1/payment/config/{payWay}/toggle',
    'PUT /api/v1/products/{code}',
    'PUT /api/v1/products/{code}/toggle',
    'PUT /api/v1/projects/{code}',
    'PUT /api/v1/projects/{code}/toggle',
    'PUT /api/v1/skillpay/agent-pay',
    'PUT /api/v1/users/{userId}',
    'PUT /api/v1/users/{userId}/toggle',
    'PUT /api/v2/payment/config/{payWay}/toggle',
    'PUT /api/v2/users/{userId}',
    'PUT /api/v2/webhook',
  ],
};
type Kind = 'asks' | 'decides' | 'repeats' | 'undoes' | 'takes' | 'hears' | 'none';

const ABOVE = 5;
const BASE = '/api/v1/approvals';
const DEPENDENT = 'approval_not_independent';
const password = 'nine-loud-badgers-nap';

const ends: (() => unknown)[] = [];

/** A shop and every kind of approver: `asker` requests as an administrator, `keeper` has handled the secret of the shop. */
async function stage() {
  const t = { teardown: (end: () => unknown) => void ends.push(end) };
  const service = await startService(t, { env: { PAY_APPROVAL_REFUND_ABOVE: String(ABOVE) } });
  const { call: root } = await firstAdmin(service);
  const offline = (name: string, of?: Parameters<typeof madeOffline>[2]) => madeOffline(service, name, of);
  const logIn = async (username: string, secret = password) =>
    as(service, (await request(service.url, 'POST', '/api/v1/login', { username, password: secret })).body.data.token);
  const pathOf = async (username: string) =>
    `/api/v1/admins/${(await root('GET', `/api/v1/admins?username=${username}`)).body.data[0].id}`;
  const done = (answer: { status: number; body: unknown }) => {
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  };

  const [asker, boss, keeper] = [await offline('asker'), await offline('boss'), await offline('keeper')];
  done(await root('POST', '/api/v1/projects', { code: 'elsewhere', name: 'Elsewhere' }));
  const made = await madeBy(asker, service, 'made');
  const people: Record<string, Call> = { made, boss, keeper };
  people.chained = await madeBy(made, service, 'chained');
  people.puppet = await madeBy(boss, service, 'puppet');
  people.keepers = await madeBy(keeper, service, 'keepers');
  people.operator = await offline('operator', { role: 'operator' });
  people.admin = await offline('admin');
  people.viewer = await offline('viewer', { role: 'viewer' });
  people.elsewhere = await offline('elsewhere', { projects: ['elsewhere'] });

  await offline('reset');
  done(await asker('PUT', await pathOf('reset'), { password: 'ten-quiet-hedgehogs-dig' }));
  people.reset = await logIn('reset', 'ten-quiet-hedgehogs-dig');
  await enrol(await offline('unfactored'), service.clock.now);
  done(await asker('POST', `${await pathOf('unfactored')}/reset-second-factor`));
  people.unfactored = await logIn('unfactored');
  await offline('moved');
  done(await asker('PUT', await pathOf('moved'), { projects: ['default'] }));
  people.moved = await logIn('moved');
  done(await boss('PUT', await pathOf('asker'), { password: 'ten-quiet-hedgehogs-dig' }));
  people.asker = await logIn('asker', 'ten-quiet-hedgehogs-dig');

  const shop = (settings = {}) => service.merchant({ trusted: true, ...settings });
  const market = await openMarket({ service, admin: root, shop });
  const { clientId } = market.shop;
  done(await keeper('POST', `/api/v1/api-apps/${clientId}/rotate-secret`, { graceSeconds: 600 }));
  await addSkill(service, { priceMinor: 1000n, payWays: ['wechat'] });
  service.clock.advance(1);
  return { ...market, service, people, offline, logIn };
}

const { service, market, people, offline } = await stage().then(
  ({ service: one, people: all, offline: make, ...rest }) => ({
    service: one,
    people: all,
    offline: make,
    market: rest,
  }),
);

/** One route that requests a refund of 10 CNY; returns the number of the waiting refund. */
interface Door {
  by: 'asker' | 'shop';
  ask(): Promise<string>;
}

const waits = ({ status, body }: Awaited<ReturnType<Call>>): string => {
  const isWaiting = body.data?.status === 'waiting_for_approval' || (status === 202 && body.data.state === 'waiting');
  if (!isWaiting) throw new Error(`does not wait: ${JSON.stringify(body)}`);
  return body.data.refundNo;
};
const asker: Call = (...sent) => people.asker!(...sent);
const { shop } = market;

const DOORS: Record<string, Door> = {
  'POST /api/v1/orders/{orderNo}/refunds': {
    by: 'asker',
    ask: async () => waits(await asker('POST', `/api/v1/orders/${await market.paid()}/refunds`, {})),
  },
  'POST /api/v1/console/payment/refund': {
    by: 'asker',
    ask: async () =>
      waits(await asker('POST', '/api/v1/console/payment/refund', { orderNo: await market.paid(), refundAmount: 10 })),
  },
  'POST /api/v1/disputes/{disputeNo}/accept': {
    by: 'asker',
    ask: async () => {
      const no = await disputed(service, await market.paid({ payWay: 'paypal' }), 'open', 'open');
      return waits(await asker('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' }));
    },
  },
  'POST /api/v1/exceptions/{id}/resolve': {
    by: 'asker',
    ask: async () => {
      const { id } = await market.mismatch();
      return waits(await asker('POST', `/api/v1/exceptions/${id}/resolve`, { action: 'refund', reason: 'Not ours' }));
    },
  },
  'POST /api/v2/payment/refund': {
    by: 'shop',
    ask: async () =>
      waits(await shop.call('POST', '/api/v2/payment/refund', { orderNo: await market.paid(), refundAmount: 10 })),
  },
  'POST /api/v2/skillpay/refund': {
    by: 'shop',
    ask: async () =>
      waits(await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo: await paidSkill(service, shop) })),
  },
};

/** The code that each approver receives, by the requester. */
const APPROVERS: Record<string, Record<Door['by'], string>> = {
  asker: { asker: 'approval_by_asker', shop: 'ok' },
  made: { asker: DEPENDENT, shop: 'ok' },
  chained: { asker: DEPENDENT, shop: 'ok' },
  reset: { asker: DEPENDENT, shop: 'ok' },
  unfactored: { asker: DEPENDENT, shop: 'ok' },
  moved: { asker: DEPENDENT, shop: 'ok' },
  boss: { asker: DEPENDENT, shop: 'ok' },
  puppet: { asker: DEPENDENT, shop: 'ok' },
  keeper: { asker: 'ok', shop: DEPENDENT },
  keepers: { asker: 'ok', shop: DEPENDENT },
  younger: { asker: DEPENDENT, shop: DEPENDENT },
  viewer: { asker: 'role_insufficient', shop: 'role_insufficient' },
  elsewhere: { asker: 'not_found', shop: 'not_found' },
  operator: { asker: 'ok', shop: 'ok' },
  admin: { asker: 'ok', shop: 'ok' },
};

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

test('every writing route states whether it can refund money', async (t) => {
  const writes = (await allRoutes()).filter(({ method }) => method !== 'GET');
  t.deepEqual(Object.values(MONEY).flat().toSorted(), writes.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test('every route that requests a refund is tried', (t) => {
  t.deepEqual(Object.keys(DOORS).toSorted(), MONEY.asks.toSorted());
});

/** The number of calls that refunded money. */
async function sent(number: string): Promise<number> {
  return service.app.store.read(async (tx) => {
    const { orderNo } = (await tx.approvals.find({ refundNo: number }))!;
    const refunds = await tx.refunds.list({ orderNo });
    const disputes = await tx.disputes.list({ orderNo });
    return refunds.filter(({ tries }) => tries > 0).length + disputes.filter((one) => one.acceptedAt !== null).length;
  });
}

for (const [name, { by, ask }] of Object.entries(DOORS))
  test.serial(
    `a refund that waits behind ${name} is sent only after an independent second administrator approves it`,
    async (t) => {
      const approve = (who: Call, no: string) => who('POST', `${BASE}/${no}/approve`);
      const number = await ask();
      const younger = await offline(`younger-${number.toLowerCase()}`.slice(0, 60));
      for (const [who, outcomes] of Object.entries(APPROVERS)) {
        const call = who === 'younger' ? younger : people[who]!;
        if (outcomes[by] === 'ok') continue;
        const answer = await approve(call, number);
        t.is(answer.body.code, outcomes[by], who);
        t.is(await sent(number), 0, who);
      }
      const byScope = await Promise.all(scopes.map((scope) => service.merchant({ scopes: [scope], trusted: true })));
      for (const app of [shop, ...byScope])
        refused(t, await app.call('POST', `${BASE}/${number}/approve`), 401, 'unauthenticated');
      t.is(await sent(number), 0);
      for (const who of ['operator', 'admin', by === 'asker' ? 'keeper' : 'asker']) {
        const one = who === 'operator' ? number : await ask();
        const answer = await approve(people[who]!, one);
        t.is(answer.status, 200, `${who}: ${JSON.stringify(answer.body)}`);
        t.is(await sent(one), 1, who);
      }
    },
  );

test.serial(
  'the only administrator approves nothing, through any account it creates, until 30 days have passed',
  async (t) => {
    const own = await startService(t, { env: { PAY_APPROVAL_REFUND_ABOVE: String(ABOVE) } });
    const first = await firstAdmin(own);
    const alice = first.call;
    const shopOf = (of = {}) => own.merchant({ trusted: true, ...of });
    const { paid } = await openMarket({ service: own, admin: alice, shop: shopOf });
    const asks = async (call: Call) => waits(await call('POST', `/api/v1/orders/${await paid()}/refunds`, {}));
    const approves = (call: Call, no: string) => call('POST', `${BASE}/${no}/approve`);
    const approvers = async () => {
      const { body } = await alice('GET', '/api/v1/diagnosis');
      t.truthy(body.data, JSON.stringify(body));
      return body.data.approvers;
    };

    const alices = await asks(alice);
    refused(t, await approves(alice, alices), 403, 'approval_by_asker');
    t.is(await approvers(), 0);
    const bob = await madeBy(alice, own, 'bob', 'operator');
    own.clock.advance(1);
    const [bobs, later] = [await asks(bob), await asks(alice)];
    refused(t, await approves(alice, bobs), 403, DEPENDENT);
    refused(t, await approves(bob, later), 403, DEPENDENT);
    t.is(await approvers(), 0);
    t.is((await alice('POST', `${BASE}/${alices}/reject`, { reason: 'Not agreed' })).status, 200);

    const carol = await madeOffline(own, 'carol');
    t.is(await approvers(), 3);
    own.clock.advance(1);
    t.is((await approves(carol, await asks(bob))).status, 200);

    own.clock.advance(31 * 86_400);
    const [again, bobAgain] = [
      (await first.logIn()).call,
      as(own, (await request(own.url, 'POST', '/api/v1/login', { username: 'bob', password })).body.data.token),
    ];
    t.is((await approves(again, bobs)).status, 200);
    refused(t, await approves(bobAgain, later), 403, DEPENDENT);
  },
);
