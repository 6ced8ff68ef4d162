import { hash } from 'node:crypto';
import test from 'ava';
import { disputed, disputeOf, toldOf } from '../../support/disputes.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin, viewer } = file;
coverRoutes(test, file);

const NOBODYS = 'D20300101000000ABCDEFGHJK';
const text = { text: 'Delivered and signed for' };
const note = { note: 'We are sorry' };

/** An order of 10 USD at PayPal that its payer disputes, and the application that sold it. */
async function open(more: object = {}) {
  const { paid, shop } = await openMarket(file);
  const orderNo = await paid({ payWay: 'paypal' });
  const disputeNo = await disputed(service, orderNo, 'open', 'open', more);
  return { orderNo, disputeNo, shop };
}

test.serial('disputes are listed, newest first, in pages, and by each filter', async (t) => {
  const { orderNo, disputeNo, shop } = await open();
  const { disputeNo: newer } = await open();
  const { channelDisputeNo } = (await disputeOf(service, orderNo))!;
  const first = await viewer('GET', '/api/v1/disputes?limit=1');
  t.is(first.status, 200);
  t.is(first.body.data[0].disputeNo, newer);
  const rest = await viewer('GET', `/api/v1/disputes?limit=1&cursor=${first.body.page.nextCursor}`);
  t.is(rest.body.data[0].disputeNo, disputeNo);
  const numbers = async (query: string) =>
    (await viewer('GET', `/api/v1/disputes?clientId=${shop.clientId}&${query}`)).body.data.map(
      (row: { disputeNo: string }) => row.disputeNo,
    );
  const own = [`orderNo=${orderNo}`, 'status=open', `channelDisputeNo=${channelDisputeNo}`, 'payWay=paypal'];
  for (const query of [...own, 'project=default']) t.deepEqual(await numbers(query), [disputeNo], query);
  for (const query of ['status=won', 'payWay=alipay', 'project=other', `orderNo=${NOBODYS}`])
    t.deepEqual(await numbers(query), [], query);
});

test.serial('an invalid filter of the disputes is 400', async (t) => {
  for (const query of ['status=eaten', 'payWay=cash', 'limit=0', 'cursor=x', 'colour=red'])
    refused(t, await viewer('GET', `/api/v1/disputes?${query}`), 400, 'invalid_request');
});

test.serial(
  "a dispute is shown with the payer's claim, reported to the application and listed for the operator",
  async (t) => {
    const { orderNo, disputeNo } = await open({ amount: 4, reason: 'INCORRECT_AMOUNT' });
    const { status, body } = await viewer('GET', `/api/v1/disputes/${disputeNo}`);
    t.is(status, 200);
    const shown = {
      orderNo,
      payWay: 'paypal',
      reason: 'INCORRECT_AMOUNT',
      amount: 4,
      amountMinor: 400,
      currency: 'USD',
    };
    t.like(body.data, { disputeNo, ...shown, status: 'open', lostAmount: 0, refundNo: null, closedAt: null });
    t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened']);
    const { data } = (await viewer('GET', `/api/v1/exceptions?state=open&kind=dispute&orderNo=${orderNo}`)).body;
    t.like(data[0], { kind: 'dispute', blocksRefunds: false, detail: { disputeNo, state: 'open' } });
    const explained = (await viewer('GET', `/api/v1/orders/${orderNo}/explain`)).body.data;
    t.is(explained.situation, 'disputed');
    t.is(explained.exceptions[0].fix, `payctl dispute get ${disputeNo}`);
    const timeline = (await viewer('GET', `/api/v1/orders/${orderNo}/timeline`)).body.data;
    t.true(timeline.some(({ summary }: { summary: string }) => summary === 'event dispute.opened'));
  },
);

test.serial(
  'a message is sent to the payer, evidence to the channel once requested, and both are reported as changes',
  async (t) => {
    const { orderNo, disputeNo } = await open();
    const talked = await admin('POST', `/api/v1/disputes/${disputeNo}/answer`, text);
    t.is(talked.status, 200, JSON.stringify(talked.body));
    t.is(talked.body.data.status, 'open');
    t.truthy(talked.body.data.answeredAt);
    await disputed(service, orderNo, 'escalate', 'needs_answer');
    const listed = (await viewer('GET', `/api/v1/exceptions?state=open&orderNo=${orderNo}`)).body.data;
    t.is(listed[0].detail.dueAt, (await viewer('GET', `/api/v1/disputes/${disputeNo}`)).body.data.dueAt);
    const answered = await admin('POST', `/api/v1/disputes/${disputeNo}/answer`, text);
    t.like(answered.body.data, { status: 'under_review', dueAt: null });
    service.clock.advance(1);
    refused(t, await admin('POST', `/api/v1/disputes/${disputeNo}/answer`, text), 422, 'channel_refused');
    const { answeredAt } = (await viewer('GET', `/api/v1/disputes/${disputeNo}`)).body.data;
    t.is(answeredAt, answered.body.data.answeredAt, 'a refused answer is not recorded');
    await disputed(service, orderNo, 'win', 'won');
    t.deepEqual(await toldOf(service, disputeNo), [
      'dispute.opened',
      'dispute.updated',
      'dispute.updated',
      'dispute.closed',
    ]);
    const ended = (await viewer('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body.data;
    t.like(ended[0], { kind: 'dispute', state: 'resolved', resolution: 'won', resolvedBy: 'service' });
  },
);

test.serial(
  'files are sent with an answer, named in the audit log, and rejected when the channel accepts none',
  async (t) => {
    const { orderNo, disputeNo } = await open();
    await disputed(service, orderNo, 'escalate', 'needs_answer');
    const path = `/api/v1/disputes/${disputeNo}/answer`;
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100_000)]);
    const withFiles = (...files: [string, Buffer][]) => {
      const form = new FormData();
      form.append('text', text.text);
      for (const [name, bytes] of files) form.append('file', new Blob([new Uint8Array(bytes)]), name);
      return form;
    };
    const key = { 'idempotency-key': `files-${disputeNo}` };
    const misnamed = withFiles();
    misnamed.append('files', new Blob([new Uint8Array(png)]), 'a photo.png');
    refused(t, await admin('POST', path, misnamed, key), 400, 'invalid_request');
    t.is((await disputeOf(service, orderNo))?.answeredAt, null, 'nothing is sent without its files');
    refused(t, await admin('POST', path, withFiles(['notes.txt', Buffer.from('x')])), 422, 'channel_refused');
    t.is((await disputeOf(service, orderNo))?.answeredAt, null, 'a refused answer is not recorded');
    const huge = withFiles(['huge.png', Buffer.alloc(10 * 1024 * 1024 + 1)]);
    refused(t, await admin('POST', path, huge), 413, 'body_too_large');
    const sent = withFiles(['a photo.png', png], ['proof.pdf', Buffer.from('%PDF-1.7')]);
    const { status, body } = await admin('POST', path, sent, key);
    t.is(status, 200, JSON.stringify(body));
    t.like(body.data, { status: 'under_review' });
    const other = withFiles(['a photo.png', png], ['proof.pdf', Buffer.from('%PDF-1.6')]);
    refused(t, await admin('POST', path, other, key), 422, 'idempotency_conflict');
    const [line] = await service.app.store.read((tx) =>
      tx.audit.list({ action: 'dispute.answer', target: disputeNo }, { orderBy: { id: 'desc' }, limit: 1 }),
    );
    t.deepEqual(line?.after?.['files'], [
      { name: 'a photo.png', bytes: png.length, sha256: hash('sha256', png) },
      { name: 'proof.pdf', bytes: 8, sha256: hash('sha256', '%PDF-1.7') },
    ]);
  },
);

test.serial('an accepted dispute is lost, and the order counts it once', async (t) => {
  const { orderNo, disputeNo } = await open({ amount: 4 });
  const { status, body } = await admin('POST', `/api/v1/disputes/${disputeNo}/accept`, note);
  t.is(status, 200, JSON.stringify(body));
  t.like(body.data, { status: 'lost', lostAmount: 4 });
  const order = (await viewer('GET', `/api/v1/orders/${orderNo}`)).body.data;
  t.like(order, { refundedAmount: 4, refundableAmount: 6, status: 'partially_refunded' });
  t.is(order.refunds.length, 1);
  t.is(order.refunds[0].refundNo, body.data.refundNo);
  for (const verb of ['accept', 'answer']) {
    const request = verb === 'accept' ? note : text;
    refused(t, await admin('POST', `/api/v1/disputes/${disputeNo}/${verb}`, request), 409, 'dispute_closed');
  }
});

test.serial('the same Idempotency-Key accepts once, and the same answer is returned again', async (t) => {
  const { disputeNo } = await open();
  for (const [verb, request] of [
    ['answer', text],
    ['accept', note],
  ] as const) {
    const path = `/api/v1/disputes/${disputeNo}/${verb}`;
    const key = { 'idempotency-key': `${verb}-${disputeNo}` };
    const first = await admin('POST', path, request, key);
    t.is(first.status, 200, JSON.stringify(first.body));
    const second = await admin('POST', path, request, key);
    t.deepEqual(second.body, first.body);
    const other = verb === 'answer' ? { text: 'Other' } : { note: 'Other' };
    refused(t, await admin('POST', path, other, key), 422, 'idempotency_conflict');
  }
});

test.serial("an acceptance whose answer is lost is settled by the channel's later state", async (t) => {
  const { disputeNo, orderNo } = await open();
  const fault = { payWay: 'paypal', call: 'dispute-deed', fault: '500-after-commit', times: 1, orderNo };
  await service.sim('/sim/faults', fault);
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'notice', fault: 'drop-notify', orderNo, probability: 1 });
  const key = { 'idempotency-key': `lost-${disputeNo}` };
  const first = await admin('POST', `/api/v1/disputes/${disputeNo}/accept`, note, key);
  t.is(first.status, 200, 'the channel was queried for the outcome');
  t.is(first.body.data.status, 'lost');
});

/** The refundable amount of an order, and the answer to a refund of one major unit. */
async function refundsOf(orderNo: string) {
  const { refundableAmount, refundsBlockedBy } = (await viewer('GET', `/api/v1/orders/${orderNo}`)).body.data;
  const asked = await admin('POST', '/api/v1/console/payment/refund', { orderNo, refundAmount: 1 });
  return { refundableAmount, refundsBlockedBy, status: asked.status, code: asked.body.code };
}

test.serial('while the outcome of an acceptance is unknown, no refund returns the same money again', async (t) => {
  const { disputeNo, orderNo } = await open({ amount: 4 });
  const [listed] = (await viewer('GET', `/api/v1/exceptions?state=open&kind=dispute&orderNo=${orderNo}`)).body.data;
  const acknowledge = { action: 'acknowledge', reason: 'seen' };
  t.is((await admin('POST', `/api/v1/exceptions/${listed.id}/resolve`, acknowledge)).status, 200);
  const late = { fault: 'timeout-then-commit', delayMs: 600_000, hangUpMs: 100, times: 1 };
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute-deed', orderNo, ...late });
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'notice', fault: 'drop-notify', orderNo, probability: 1 });
  const path = `/api/v1/disputes/${disputeNo}/accept`;
  refused(t, await admin('POST', path, note), 504, 'channel_outcome_unknown');
  const blocked = { refundableAmount: 0, refundsBlockedBy: 'dispute', status: 409, code: 'refunds_blocked' };
  t.deepEqual(await refundsOf(orderNo), blocked, 'also after the dispute was acknowledged');
  await service.sim('/sim/clock', { advanceSeconds: 601 });
  service.clock.advance(3601);
  await service.app.sweep.once();
  t.is((await disputeOf(service, orderNo))?.state, 'lost');
  const { refundableAmount, refundsBlockedBy, status } = await refundsOf(orderNo);
  t.deepEqual(
    { refundableAmount, refundsBlockedBy, status },
    { refundableAmount: 6, refundsBlockedBy: null, status: 200 },
  );
});

test.serial('an acceptance that the channel refuses does not block refunds', async (t) => {
  const { disputeNo, orderNo } = await open({ amount: 4 });
  const fault = { payWay: 'paypal', call: 'dispute-deed', fault: 'refused', word: 'ACTION_NOT_ALLOWED', orderNo };
  await service.sim('/sim/faults', { ...fault, times: 1 });
  refused(t, await admin('POST', `/api/v1/disputes/${disputeNo}/accept`, note), 422, 'channel_refused');
  t.like(await refundsOf(orderNo), { refundableAmount: 10, refundsBlockedBy: null, status: 200 });
});

test.serial('a dispute is not accepted while a refund may still return the same money', async (t) => {
  const { disputeNo, orderNo } = await open({ amount: 4 });
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'refund', fault: '502', times: 1, orderNo });
  const refund = { orderNo, refundAmount: 4 };
  const made = await admin('POST', '/api/v1/console/payment/refund', refund);
  t.is(made.body.data.status, 'processing', 'the channel never got it, and that is not known');
  const accept = () => admin('POST', `/api/v1/disputes/${disputeNo}/accept`, note);
  const beside = await accept();
  refused(t, beside, 409, 'refund_in_progress');
  t.is(beside.body.refundNo, made.body.data.refundNo);
  t.is((await disputeOf(service, orderNo))?.acceptedAt, null);
  service.clock.advance(60);
  await service.app.sweep.once();
  t.is((await viewer('GET', `/api/v1/orders/${orderNo}`)).body.data.refunds[0].status, 'succeeded');
  const { status, body } = await accept();
  t.is(status, 200, JSON.stringify(body));
});

test.serial('a call that never reached the channel is reported as unknown, and can be repeated', async (t) => {
  const { disputeNo, orderNo } = await open();
  const path = `/api/v1/disputes/${disputeNo}/accept`;
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute-deed', fault: '502', times: 1, orderNo });
  const key = { 'idempotency-key': `unknown-${disputeNo}` };
  refused(t, await admin('POST', path, note, key), 504, 'channel_outcome_unknown');
  service.clock.advance(60);
  const again = await admin('POST', path, note, key);
  t.is(again.status, 200, JSON.stringify(again.body));
  t.is(again.body.data.status, 'lost');
});

test.serial('an answer that never reached the channel stays unknown until a repeat succeeds', async (t) => {
  const { disputeNo, orderNo } = await open();
  const answer = () =>
    admin('POST', `/api/v1/disputes/${disputeNo}/answer`, text, { 'idempotency-key': `lost-answer-${disputeNo}` });
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute-deed', fault: '502', times: 2, orderNo });
  for (let tries = 0; tries < 2; tries += 1) {
    refused(t, await answer(), 504, 'channel_outcome_unknown');
    service.clock.advance(60);
  }
  const { status, body } = await answer();
  t.is(status, 200, JSON.stringify(body));
  t.is(body.data.status, 'open');
});

test.serial('text is required and its length is limited', async (t) => {
  for (const [verb, body] of [
    ['answer', {}],
    ['answer', { text: 'x'.repeat(2001) }],
    ['accept', {}],
    ['accept', { note: '' }],
    ['finish', { result: 'eaten' }],
  ] as const)
    refused(t, await admin('POST', `/api/v1/disputes/${NOBODYS}/${verb}`, body), 400, 'invalid_request');
});

test.serial('a complaint of WeChat Pay can be finished, and a dispute of PayPal cannot', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid({ payWay: 'wechat' });
  const disputeNo = await disputed(service, orderNo, 'open', 'needs_answer');
  const key = { 'idempotency-key': `finish-${disputeNo}` };
  const finish = (no: string) => admin('POST', `/api/v1/disputes/${no}/finish`, undefined, key);
  const { status, body } = await finish(disputeNo);
  t.is(status, 200, JSON.stringify(body));
  t.like(body.data, { status: 'won', lostAmount: 0 });
  t.deepEqual((await finish(disputeNo)).body, body);
  const { disputeNo: other } = await open();
  refused(t, await finish(other), 422, 'idempotency_conflict');
  refused(t, await admin('POST', `/api/v1/disputes/${other}/finish`), 422, 'channel_refused');
  refused(t, await admin('POST', `/api/v1/disputes/${disputeNo}/finish`), 409, 'dispute_closed');
});

test.serial('an unknown dispute is 404 at every operation', async (t) => {
  refused(t, await viewer('GET', `/api/v1/disputes/${NOBODYS}`), 404, 'not_found');
  refused(t, await admin('POST', `/api/v1/disputes/${NOBODYS}/answer`, text), 404, 'not_found');
  refused(t, await admin('POST', `/api/v1/disputes/${NOBODYS}/accept`, note), 404, 'not_found');
  refused(t, await admin('POST', `/api/v1/disputes/${NOBODYS}/finish`), 404, 'not_found');
});

test.serial('a dispute won after it was lost waits for an operator, who returns the money to the order', async (t) => {
  const { orderNo, disputeNo } = await open();
  await disputed(service, orderNo, 'lose', 'lost');
  const { refundNo } = (await disputeOf(service, orderNo))!;
  const early = { action: 'failed_at_channel', reason: 'x' };
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/retry`), 409, 'refund_not_retryable');
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, early), 409, 'refund_not_released');
  await disputed(service, orderNo, 'win', 'won');
  t.is((await viewer('GET', `/api/v1/refunds/${refundNo}`)).body.data.status, 'abnormal');
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/retry`), 409, 'refund_not_retryable');
  const request = { action: 'failed_at_channel', reason: 'The appeal was won' };
  const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, request);
  t.is(status, 200, JSON.stringify(body));
  t.like(body.data, { status: 'failed', refundedAmount: 0, refundableAmount: 10 });
  t.is((await viewer('GET', `/api/v1/exceptions?state=open&orderNo=${orderNo}`)).body.data.length, 0);
  t.like((await viewer('GET', `/api/v1/disputes/${disputeNo}`)).body.data, { status: 'won', lostAmount: 0 });
});
