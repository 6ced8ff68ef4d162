import test from 'ava';
import { randomUUID } from 'node:crypto';
import { as, type Call, madeBy, madeOffline } from '../../support/admin.ts';
import { disputed, disputeOf } from '../../support/disputes.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket, openOwnMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { until } from '../../support/service.ts';
import { addSkill, callSkill, paidSkill } from '../../support/skillpay.ts';

const file = await serviceOfFile(import.meta.filename, { env: { PAY_APPROVAL_REFUND_ABOVE: '5' } });
coverRoutes(test, file);

const { service, admin, viewer } = file;
const base = '/api/v1/approvals';
let maker: Call;
/** An independent approver: the first administrator created only `maker`. */
let second: Call;

test.before(async () => {
  maker = await madeBy(admin, service, 'maker');
  second = await madeOffline(service, 'second');
  service.clock.advance(1);
});

const refundBy = (by: Call, orderNo: string, refundAmount: number, more: object = {}) =>
  by('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount, ...more });
const stateOf = async (refundNo: string) => (await admin('GET', `/api/v1/refunds/${refundNo}`)).body.data.status;

test.serial(
  'a refund above the limit waits with its amount reserved, and is sent when another administrator approves',
  async (t) => {
    const market = await openMarket(file);
    const orderNo = await market.paid();
    const asked = await refundBy(admin, orderNo, 5.01, { reason: 'Returned' });
    t.is(asked.status, 201);
    const { refundNo } = asked.body.data;
    t.like(asked.body.data, {
      status: 'waiting_for_approval',
      refundedAmount: 0,
      refundableAmount: 4.99,
      nextCheckAt: null,
    });
    refused(t, await refundBy(second, orderNo, 5), 422, 'refund_exceeds_refundable');
    t.is((await refundBy(admin, orderNo, 4)).body.data.status !== 'waiting_for_approval', true);
    service.clock.advance(3600);
    await service.app.sweep.once();
    await admin('POST', `/api/v1/refunds/${refundNo}/sync`);
    t.is(await stateOf(refundNo), 'waiting_for_approval', 'no job and no question sends it');
    refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/retry`), 409, 'refund_not_retryable');
    const listed = (await viewer('GET', `${base}?state=waiting&orderNo=${orderNo}`)).body.data;
    t.like(listed[0], { refundNo, refundAmount: 5.01, askedBy: 'admin:alice', reason: 'Returned', state: 'waiting' });
    t.is(listed.length, 1);
    const found = async (status: string) =>
      (await viewer('GET', `/api/v1/refunds?orderNo=${orderNo}&status=${status}`)).body.data.map(
        (row: { refundNo: string }) => row.refundNo,
      );
    t.deepEqual(await found('waiting_for_approval'), [refundNo]);
    t.false((await found('pending')).includes(refundNo));
    const explained = (await admin('GET', `/api/v1/orders/${orderNo}/explain`)).body.data.refunds[0];
    t.like(explained, { status: 'waiting_for_approval', situation: 'waiting_for_approval' });
    refused(t, await admin('POST', `${base}/${refundNo}/approve`), 403, 'approval_by_asker');
    refused(t, await viewer('POST', `${base}/${refundNo}/approve`), 403, 'role_insufficient');
    const approved = await second('POST', `${base}/${refundNo}/approve`);
    t.is(approved.status, 200);
    t.like(approved.body.data, { state: 'approved', decidedBy: 'admin:second' });
    await until(
      'it is done',
      async () => (await admin('POST', `/api/v1/refunds/${refundNo}/sync`)).body.data.status === 'succeeded',
    );
    refused(t, await second('POST', `${base}/${refundNo}/approve`), 409, 'approval_decided');
    refused(t, await second('POST', `${base}/${refundNo}/reject`, { reason: 'x' }), 409, 'approval_decided');
    t.is((await admin('GET', `${base}/${refundNo}`)).body.data.state, 'approved');
    for (const [method, path] of [
      ['GET', 'R-unknown'],
      ['POST', 'R-unknown/approve'],
      ['POST', 'R-unknown/reject'],
    ] as const)
      refused(
        t,
        await admin(method, `${base}/${path}`, method === 'GET' ? undefined : { reason: 'x' }),
        404,
        'not_found',
      );
    for (const query of ['?state=open', '?limit=0', '?status=waiting'])
      refused(t, await admin('GET', base + query), 400, 'invalid_request');
  },
);

test.serial('a rejected refund fails, frees its amount, and cannot be retried', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  const asked = { orderNo, refundAmount: 6, merchantRefundNo: `r-${orderNo}` };
  const refund = () => shop.call('POST', '/api/v2/payment/refund', asked);
  const first = await refund();
  const { refundNo } = first.body.data;
  t.is(first.body.data.status, 'waiting_for_approval');
  t.deepEqual((await refund()).body.data, first.body.data, 'a repeat returns the same');
  const shown = (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data;
  t.is(shown.refunds[0].status, 'waiting_for_approval');
  t.is((await second('POST', `${base}/${refundNo}/reject`, {})).status, 400);
  const rejected = await second('POST', `${base}/${refundNo}/reject`, { reason: 'not agreed' });
  t.like(rejected.body.data, { state: 'rejected', decision: 'not agreed', decidedBy: 'admin:second' });
  const again = (await refund()).body.data;
  t.like(again, { refundNo, status: 'failed', refundableAmount: 10 });
  t.deepEqual(again.failure, { code: 'approval_rejected', message: 'not agreed' });
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/retry`), 409, 'refund_not_retryable');
  t.is((await refundBy(admin, orderNo, 5)).body.data.status !== 'waiting_for_approval', true);
  const { data } = (await shop.call('GET', '/api/v2/events?limit=50')).body;
  const types = data.map(({ type }: { type: string }) => type);
  t.true(types.includes('refund.approval_requested') && types.includes('refund.failed'));
});

test.serial('partial refunds below the limit count together', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  t.not((await refundBy(admin, orderNo, 3)).body.data.status, 'waiting_for_approval');
  const over = await refundBy(admin, orderNo, 2.01);
  t.is(over.body.data.status, 'waiting_for_approval');
  t.is((await second('POST', `${base}/${over.body.data.refundNo}/approve`)).status, 200);
  t.not(
    (await refundBy(admin, orderNo, 2)).body.data.status,
    'waiting_for_approval',
    'an approved refund does not count',
  );
});

test.serial('a blocked order keeps its refund waiting, and the list continues on the next page', async (t) => {
  const { paid } = await openMarket(file);
  const numbers: string[] = [];
  const orderNo = await paid();
  for (const amount of [5.2, 4.8]) {
    const { body } = await refundBy(admin, orderNo, amount);
    if (body.data.status === 'waiting_for_approval') numbers.push(body.data.refundNo);
  }
  const other = await paid();
  numbers.push((await refundBy(admin, other, 6)).body.data.refundNo);
  const first = (await admin('GET', `${base}?limit=1`)).body;
  t.is(first.data[0].refundNo, numbers.at(-1));
  const next = (await admin('GET', `${base}?limit=1&cursor=${first.page.nextCursor}`)).body;
  t.is(next.data[0].refundNo, numbers.at(-2));
  const refundNo = numbers.at(-1)!;
  const found = await service.app.store.read((tx) => tx.orders.find({ orderNo: other }));
  const blocking = { id: randomUUID(), orderNo: other, refundNo: null, clientId: found!.clientId, project: 'default' };
  const nothing = { detail: null, receivedMinor: null, receivedCurrency: null, resolution: null, reason: null };
  const open = {
    state: 'open',
    blocksRefunds: true,
    resolvedBy: null,
    createdAt: service.clock.now(),
    resolvedAt: null,
  };
  await service.app.store.transaction((tx) =>
    tx.exceptions.insert({ ...blocking, ...nothing, ...open, kind: 'refund_unexplained', dedupe: 'test' } as never),
  );
  refused(t, await second('POST', `${base}/${refundNo}/approve`), 409, 'refunds_blocked');
  t.is(await stateOf(refundNo), 'waiting_for_approval');
  t.is((await admin('GET', `${base}?project=nowhere`)).body.data.length, 0);
});

test.serial(
  'content is not delivered while a partial refund waits for approval, and is delivered when it is rejected',
  async (t) => {
    const { project, shop } = await openOwnMarket(file);
    await addSkill(service, { project, priceMinor: 1000n, payWays: ['wechat'] });
    const outTradeNo = await paidSkill(service, shop);
    const asked = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo, refundAmount: 9.99 });
    t.is(asked.body.data.status, 'waiting_for_approval', JSON.stringify(asked.body));
    refused(t, await callSkill(shop, undefined, outTradeNo), 410, 'order_refunded');
    const reject = `${base}/${asked.body.data.refundNo}/reject`;
    t.is((await second('POST', reject, { reason: 'Not agreed' })).status, 200);
    t.is((await callSkill(shop, undefined, outTradeNo)).status, 200);
  },
);

const approve = (by: Call, number: string) => by('POST', `${base}/${number}/approve`);
const DEPENDENT = 'approval_not_independent';
/** The login is older than five minutes by now. */
const confirm = async () => {
  await admin('POST', '/api/v1/me/confirm', { password: 'seven-quiet-otters-swim' });
  await maker('POST', '/api/v1/me/confirm', { password: 'nine-loud-badgers-nap' });
};

test.serial(
  'an account created or changed by the requester, or created after the request, is not independent',
  async (t) => {
    const { paid } = await openMarket(file);
    await confirm();
    const { refundNo } = (await refundBy(admin, await paid(), 6)).body.data;
    service.clock.advance(1);
    const younger = await madeBy(maker, service, 'younger');
    const alices = await approve(maker, refundNo);
    refused(t, alices, 403, DEPENDENT);
    t.regex(alices.body.detail, /requesting administrator made or changed your account/);
    const late = await approve(younger, refundNo);
    refused(t, late, 403, DEPENDENT);
    t.regex(late.body.detail, /younger/);

    const changed = await madeBy(maker, service, 'changed');
    const { data } = (await admin('GET', '/api/v1/admins?username=changed')).body;
    const password = 'ten-quiet-hedgehogs-dig';
    t.is((await admin('PUT', `/api/v1/admins/${data[0].id}`, { password })).status, 200);
    t.is((await changed('GET', '/api/v1/me')).status, 401);
    const { token } = (await file.nobody('POST', '/api/v1/login', { username: 'changed', password })).body.data;
    service.clock.advance(1);
    const other = (await refundBy(admin, await paid(), 6)).body.data.refundNo;
    refused(t, await approve(as(service, token), other), 403, DEPENDENT);
    for (const number of [refundNo, other]) t.is((await approve(second, number)).status, 200);
  },
);

test.serial(
  "an administrator who handled an application's credentials is not independent for its requests",
  async (t) => {
    const { shop, paid } = await openMarket(file);
    const path = `/api/v1/api-apps/${shop.clientId}`;
    const ask = async () => {
      const asked = await shop.call('POST', '/api/v2/payment/refund', { orderNo: await paid(), refundAmount: 6 });
      return asked.body.data.refundNo as string;
    };
    await confirm();
    const keeper = await madeBy(maker, service, 'keeper');
    t.is((await keeper('PUT', path, { remark: 'Of the shop in the harbour' })).status, 200);
    service.clock.advance(1);
    t.is((await approve(keeper, await ask())).status, 200, 'a remark is no credential');
    const widener = await madeBy(maker, service, 'widener');
    for (const [by, handled] of [
      [keeper, keeper('POST', `${path}/rotate-secret`, { graceSeconds: 600 })],
      [widener, widener('PUT', path, { allowedIps: ['127.0.0.0/8', '::1'] })],
    ] as const) {
      t.is((await handled).status, 200);
      const refundNo = await ask();
      refused(t, await approve(by, refundNo), 403, DEPENDENT);
      t.is((await approve(second, refundNo)).status, 200);
    }
  },
);

test.serial('a dispute above the limit is accepted when another administrator approves it', async (t) => {
  const { paid } = await openMarket(file);
  const open = async () => disputed(service, await paid({ payWay: 'paypal' }), 'open', 'open');
  const accept = (by: Call, no: string) => by('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' });
  const no = await open();
  const asked = await accept(admin, no);
  t.is(asked.status, 202);
  t.like(asked.body.data, {
    refundNo: no,
    kind: 'dispute',
    refundAmount: 10,
    state: 'waiting',
    askedBy: 'admin:alice',
  });
  t.like((await accept(second, no)).body.data, { refundNo: no, askedBy: 'admin:alice' }, 'it waits once');
  t.like((await admin('GET', `/api/v1/disputes/${no}`)).body.data, { acceptedAt: null });
  refused(t, await approve(admin, no), 403, 'approval_by_asker');
  refused(t, await approve(maker, no), 403, DEPENDENT);
  t.is((await second('POST', `${base}/${no}/reject`, { reason: 'We have proof' })).status, 200);
  t.is((await accept(admin, no)).status, 202, 'it can be requested again');
  t.like((await approve(second, no)).body.data, { state: 'approved', decidedBy: 'admin:second' });
  await until('it is lost', async () => {
    await admin('GET', `/api/v1/disputes/${no}`);
    return (await admin('GET', `/api/v1/disputes/${no}`)).body.data.status === 'lost';
  });
  refused(t, await approve(second, no), 409, 'approval_decided');
  refused(t, await accept(admin, no), 409, 'dispute_closed');
});

test.serial('a dispute is not approved while a refund is under way, and its approval stays open', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid({ payWay: 'paypal' });
  const no = await disputed(service, orderNo, 'open', 'open', { amount: 6 });
  t.is((await admin('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' })).status, 202);
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'refund', fault: '502', times: 1, orderNo });
  t.is((await refundBy(admin, orderNo, 4)).body.data.status, 'processing');
  refused(t, await approve(second, no), 409, 'refund_in_progress');
  t.is((await admin('GET', `${base}/${no}`)).body.data.state, 'waiting');
  service.clock.advance(60);
  await service.app.sweep.once();
  t.is((await approve(second, no)).status, 200);
  t.truthy((await disputeOf(service, orderNo))?.acceptedAt);
});

test.serial(
  'a refund that waits for approval does not block a dispute, and is not approved before an accepted one ends',
  async (t) => {
    const { paid } = await openMarket(file);
    const orderNo = await paid({ payWay: 'paypal' });
    const asked = (await refundBy(admin, orderNo, 6)).body.data;
    t.is(asked.status, 'waiting_for_approval');
    const no = await disputed(service, orderNo, 'open', 'open', { amount: 3 });
    const late = { fault: 'timeout-then-commit', delayMs: 600_000, hangUpMs: 100, times: 1 };
    await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute-deed', orderNo, ...late });
    const accepted = await admin('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' });
    refused(t, accepted, 504, 'channel_outcome_unknown');
    refused(t, await approve(second, asked.refundNo), 409, 'refunds_blocked');
    const explained = (await admin('GET', `/api/v1/orders/${orderNo}/explain`)).body.data;
    t.regex(explained.reason, /was accepted; refunds are blocked until the channel has decided/);
    await service.sim('/sim/clock', { advanceSeconds: 601 });
    await until('it is lost', async () => (await disputeOf(service, orderNo))?.state === 'lost');
    t.is((await approve(second, asked.refundNo)).status, 200, 'both are paid: 9 of 10');
  },
);

test.serial('a dispute whose amount has grown since the request waits for a new approval', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid({ payWay: 'paypal' });
  const no = await disputed(service, orderNo, 'open', 'open', { amount: 6 });
  t.is((await admin('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' })).status, 202);
  await service.app.store.autocommit((tx) => tx.disputes.update({ disputeNo: no }, { amount: 1000n }));
  const approved = await approve(second, no);
  t.like(approved.body.data, { state: 'waiting', refundAmount: 10, askedBy: 'admin:second', decidedBy: null });
  t.is((await disputeOf(service, orderNo))?.acceptedAt, null);
  refused(t, await approve(second, no), 403, 'approval_by_asker');
});

test.serial('accepted disputes and refunds of one order count together', async (t) => {
  const { paid } = await openMarket(file);
  const accept = (no: string) => admin('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' });
  const small = { amount: 4 };

  const refundFirst = await paid({ payWay: 'paypal' });
  t.not((await refundBy(admin, refundFirst, 3)).body.data.status, 'waiting_for_approval');
  const waits = await accept(await disputed(service, refundFirst, 'open', 'open', small));
  t.is(waits.status, 202, JSON.stringify(waits.body));
  t.like(waits.body.data, { kind: 'dispute', refundAmount: 4, state: 'waiting' });

  const disputeFirst = await paid({ payWay: 'paypal' });
  t.is((await accept(await disputed(service, disputeFirst, 'open', 'open', small))).status, 200);
  const over = (await refundBy(admin, disputeFirst, 3)).body.data;
  t.is(over.status, 'waiting_for_approval');
  t.is((await approve(second, over.refundNo)).status, 200);
  t.not(
    (await refundBy(admin, disputeFirst, 1)).body.data.status,
    'waiting_for_approval',
    'they are exactly the bound',
  );

  const lost = await paid({ payWay: 'paypal' });
  await disputed(service, lost, 'open', 'open', small);
  await disputed(service, lost, 'lose', 'lost', small);
  t.not((await refundBy(admin, lost, 5)).body.data.status, 'waiting_for_approval', 'the dispute was not accepted here');
});

test.serial('money of an exception is refunded when another administrator approves it', async (t) => {
  const { mismatch } = await openMarket(file);
  const { id, orderNo } = await mismatch();
  const resolve = () => admin('POST', `/api/v1/exceptions/${id}/resolve`, { action: 'refund', reason: 'Not ours' });
  const asked = await resolve();
  t.is(asked.status, 202, JSON.stringify(asked.body));
  t.like(asked.body.data, { refundNo: id, kind: 'exception', state: 'waiting', reason: 'Not ours' });
  t.is((await admin('GET', `/api/v1/exceptions/${id}`)).body.data.state, 'open');
  t.is((await admin('GET', `/api/v1/refunds?orderNo=${orderNo}`)).body.data.length, 0);
  refused(t, await approve(admin, id), 403, 'approval_by_asker');
  t.is((await approve(second, id)).status, 200);
  t.like((await admin('GET', `/api/v1/exceptions/${id}`)).body.data, { state: 'resolved', resolvedBy: 'admin:second' });
  t.is((await admin('GET', `/api/v1/refunds?orderNo=${orderNo}`)).body.data.length, 1);
});

test.serial(
  'an approval checks the amounts again, so money taken by a dispute meanwhile is not refunded twice',
  async (t) => {
    const { paid } = await openMarket(file);
    const orderNo = await paid({ payWay: 'paypal' });
    const { refundNo } = (await refundBy(admin, orderNo, 8)).body.data;
    await disputed(service, orderNo, 'open', 'open');
    await disputed(service, orderNo, 'lose', 'lost');
    refused(t, await approve(second, refundNo), 422, 'refund_exceeds_refundable');
    t.is((await second('POST', `${base}/${refundNo}/reject`, { reason: 'The dispute took it' })).status, 200);
  },
);
