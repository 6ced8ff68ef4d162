import test from 'ava';
import { as, type Call, firstAdmin, madeOffline } from '../../support/admin.ts';
import { disputed } from '../../support/disputes.ts';
import { payOrder } from '../../support/orders.ts';
import { refused } from '../../support/route-file.ts';
import { type Service, startService, until } from '../../support/service.ts';
import { codeAt, enrol } from '../../support/second-factor.ts';

const CODE = 'password_confirmation_required';
const password = 'seven-quiet-otters-swim';

const ends: (() => unknown)[] = [];
/**
 * A shop on the simulator, and a replica without Debug on the same database, so that confirmations are required as with live channels.
 * The administrator has a second factor; refunds above 5 need approval.
 */
async function stage() {
  const t = { teardown: (end: () => unknown) => void ends.push(end) };
  const env = { PAY_APPROVAL_REFUND_ABOVE: '5' };
  const shop = await startService(t, { env });
  const { simulator, databaseUrl: url, clock } = shop;
  const live = await startService(t, { env: { ...env, PAY_DEBUG: 'false' }, simulator, url, now: clock.now });
  const first = await firstAdmin(shop);
  const { secret } = await enrol(first.call, clock.now);
  let { token } = first;
  const at =
    (service: Service) =>
    (...sent: Parameters<Call>) =>
      as(service, token)(...sent);
  const call = at(live);
  return {
    shop,
    merchant: await shop.merchant(),
    call,
    /** Requests to the replica that reaches the simulator. */
    debug: at(shop),
    clock,
    /** Makes the password and the current code older than five minutes. */
    grow: () => clock.advance(301),
    confirm: async () => {
      clock.advance(30);
      const proof = { password, code: codeAt(secret, clock.now()) };
      const { status, body } = await call('POST', '/api/v1/me/confirm', proof);
      if (status !== 200) throw new Error(JSON.stringify(body));
      token = body.data.token;
    },
  };
}

const { shop, merchant, call, clock, debug, grow, confirm } = await stage();

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

test.serial(
  'refunds above the limit require password and code, by either route and in parts, and refunds below it do not',
  async (t) => {
    const orderNo = await payOrder(shop, merchant, {});
    grow();
    const ask = (refundAmount: number, headers = {}) =>
      call(
        'POST',
        `/api/v1/orders/${orderNo}/refunds`,
        { refundAmount, merchantRefundNo: `part-${refundAmount * 10}` },
        headers,
      );
    t.is((await ask(4)).status, 201);
    refused(t, await ask(1.5), 403, CODE);
    const body = { orderNo, refundAmount: 6 };
    refused(t, await call('POST', '/api/v1/console/payment/refund', body), 403, CODE);
    const key = { 'idempotency-key': 'refund-above' };
    refused(t, await ask(5.5, key), 403, CODE);
    t.is((await shop.app.store.read((tx) => tx.refunds.list({ orderNo }))).length, 1, 'nothing was written');
    await confirm();
    const { body: made } = await ask(5.5, key);
    t.is(made.data.status, 'waiting_for_approval', 'the key was not used up by the refusal');
  },
);

test.serial('an application needs no confirmation, and its refund waits for approval as before', async (t) => {
  const orderNo = await payOrder(shop, merchant, {});
  const { body } = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 6 });
  t.is(body.data.status, 'waiting_for_approval');
});

/** An order of 10 CNY for which the channel reports another paid amount; returns the id of its exception. */
async function mismatch(amount: number): Promise<string> {
  const asked = { subject: 'Test', amount, payWay: 'wechat' };
  const { orderNo } = (await merchant.call('POST', '/api/v2/payment/pay', asked)).body.data;
  const fault = { payWay: 'wechat', orderNo };
  await shop.sim('/sim/faults', { ...fault, call: 'query', fault: 'wrong-amount', times: 1 });
  await shop.sim('/sim/faults', { ...fault, call: 'notice', fault: 'drop-notify', probability: 1 });
  await shop.sim('/sim/pay', { orderNo });
  await debug('POST', `/api/v1/orders/${orderNo}/sync`);
  return (await debug('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body.data[0].id;
}

const resolve = (id: string, action: string) =>
  call('POST', `/api/v1/exceptions/${id}/resolve`, { action, reason: 'Agreed by telephone' });

test.serial(
  'accepting another amount for an order above the limit requires a confirmation, and so does refunding it',
  async (t) => {
    const [large, other, small] = [await mismatch(10), await mismatch(10), await mismatch(3)];
    grow();
    refused(t, await resolve(large, 'accept'), 403, CODE);
    refused(t, await resolve(other, 'refund'), 403, CODE);
    t.is((await resolve(small, 'accept')).status, 200);
    await confirm();
    t.is((await resolve(large, 'accept')).status, 200);
    t.is((await resolve(other, 'refund')).status, 202);
  },
);

test.serial(
  'an acknowledgement that allows refunds beside an accepted dispute requires a confirmation, and no other does',
  async (t) => {
    const disputeOf = async (orderNo: string) => {
      const { data } = (await debug('GET', `/api/v1/exceptions?kind=dispute&orderNo=${orderNo}`)).body;
      return data[0].id as string;
    };
    const [plain, accepted] = [
      await payOrder(shop, merchant, { payWay: 'paypal' }),
      await payOrder(shop, merchant, { payWay: 'paypal' }),
    ];
    await disputed(shop, plain, 'open', 'open', { amount: 4 });
    const no = await disputed(shop, accepted, 'open', 'open', { amount: 4 });
    await shop.sim('/sim/faults', {
      payWay: 'paypal',
      call: 'dispute-deed',
      fault: '502',
      times: 1,
      orderNo: accepted,
    });
    refused(
      t,
      await debug('POST', `/api/v1/disputes/${no}/accept`, { note: 'We agree' }),
      504,
      'channel_outcome_unknown',
    );
    grow();
    t.is((await resolve(await disputeOf(plain), 'acknowledge')).status, 200);
    refused(t, await resolve(await disputeOf(accepted), 'acknowledge'), 403, CODE);
    const refund = () => debug('POST', `/api/v1/orders/${accepted}/refunds`, { refundAmount: 1 });
    refused(t, await refund(), 409, 'refunds_blocked');
    await confirm();
    t.is((await resolve(await disputeOf(accepted), 'acknowledge')).status, 200);
    t.is((await refund()).status, 201);
  },
);

test.serial('accepting a dispute and repeating a failed refund require a confirmation above the limit', async (t) => {
  const disputeNo = await disputed(shop, await payOrder(shop, merchant, { payWay: 'paypal' }), 'open', 'open');
  const orderNo = await payOrder(shop, merchant, { payWay: 'wechat' });
  await shop.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'abnormal-refund', orderNo });
  await confirm();
  const second = await madeOffline(shop, 'second', { role: 'operator' });
  clock.advance(1);
  const { refundNo } = (await call('POST', `/api/v1/orders/${orderNo}/refunds`, {})).body.data;
  t.is((await second('POST', `/api/v1/approvals/${refundNo}/approve`)).status, 200, 'an operator approves');
  await until('the refund is abnormal', async () => {
    await debug('POST', `/api/v1/refunds/${refundNo}/sync`);
    return (await debug('GET', `/api/v1/refunds/${refundNo}`)).body.data.status === 'abnormal';
  });
  grow();
  const accept = () => call('POST', `/api/v1/disputes/${disputeNo}/accept`, { note: 'We agree' });
  refused(t, await accept(), 403, CODE);
  refused(t, await call('POST', `/api/v1/refunds/${refundNo}/retry`), 403, CODE);
  await confirm();
  // This replica does not reach the simulator, so only the confirmation can be checked.
  t.not((await accept()).body.code, CODE);
  t.not((await call('POST', `/api/v1/refunds/${refundNo}/retry`)).body.code, CODE);
});
