import test from 'ava';
import { openShop, orderRequest, type Shop } from './shop.ts';

let shop: Shop;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.close());

const PATH = '/v1/customer/disputes';
let count = 0;

/** Returns a paid order and its capture id. */
async function paid(value = '10.00'): Promise<{ orderNo: string; captureId: string }> {
  const orderNo = `DISPUTE${String(++count).padStart(6, '0')}`;
  const { body } = await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo, value), {
    'paypal-request-id': orderNo,
  });
  await shop.world.post('/sim/approve', { orderNo });
  const captured = await shop.call(
    'POST',
    `/v2/checkout/orders/${String(body['id'])}/capture`,
    {},
    { 'paypal-request-id': `${orderNo}-c1` },
  );
  const [unit] = captured.body['purchase_units'] as { payments: { captures: { id: string }[] } }[];
  return { orderNo, captureId: unit?.payments.captures[0]?.id ?? '' };
}

async function act(orderNo: string, action: string, more: object = {}): Promise<string> {
  const { id } = (await shop.world.post('/sim/dispute', { orderNo, act: action, ...more })) as { id: string };
  return id;
}

const get = async (id: string) => (await shop.call('GET', `${PATH}/${id}`)).body;
const rels = (body: Record<string, unknown>) => (body['links'] as { rel: string }[]).map(({ rel }) => rel);

/** Sends a form with JSON in its part `input`. */
async function form(id: string, verb: string, input: unknown, part = 'input') {
  const body = new FormData();
  body.append(part, new Blob([JSON.stringify(input)], { type: 'application/json' }));
  const answer = await fetch(`${shop.world.url}/paypal${PATH}/${id}/${verb}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.token}` },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as { details?: { issue: string }[] } };
}

test('a dispute is shown with its payment and with the actions of each stage', async (t) => {
  const { orderNo, captureId } = await paid();
  const id = await act(orderNo, 'open', { amount: '4.00', reason: 'INCORRECT_AMOUNT' });
  const opened = await get(id);
  t.like(opened, { dispute_id: id, status: 'OPEN', dispute_life_cycle_stage: 'INQUIRY', reason: 'INCORRECT_AMOUNT' });
  t.like(opened, { dispute_amount: { currency_code: 'USD', value: '4.00' }, dispute_state: 'OPEN_INQUIRIES' });
  t.like((opened['disputed_transactions'] as object[])[0], { seller_transaction_id: captureId, custom: orderNo });
  t.deepEqual(rels(opened), ['self', 'send_message', 'accept_claim']);
  await act(orderNo, 'escalate', { dueDays: 7 });
  const claimed = await get(id);
  t.like(claimed, { status: 'WAITING_FOR_SELLER_RESPONSE', dispute_life_cycle_stage: 'CHARGEBACK' });
  t.truthy(claimed['seller_response_due_date']);
  t.deepEqual(rels(claimed), ['self', 'provide_evidence', 'accept_claim']);
  await act(orderNo, 'review');
  t.deepEqual(rels(await get(id)), ['self']);
});

test('an action that is not offered and a form without its JSON are refused', async (t) => {
  const { orderNo } = await paid();
  const id = await act(orderNo, 'open');
  const evidence = { evidences: [{ evidence_type: 'OTHER', notes: 'Delivered' }] };
  const issue = (answer: { body: { details?: { issue: string }[] } }) => answer.body.details?.[0]?.issue;
  const early = await form(id, 'provide-evidence', evidence);
  t.deepEqual([early.status, issue(early)], [422, 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE']);
  t.is((await form(id, 'send-message', { message: 'Hello' })).status, 200);
  await act(orderNo, 'escalate');
  t.is((await form(id, 'send-message', { message: 'Hello' })).status, 422);
  t.is((await form(id, 'provide-evidence', evidence, 'json')).status, 400);
  t.is((await form(id, 'provide-evidence', { evidences: [] })).status, 400);
  t.is((await shop.call('POST', `${PATH}/${id}/provide-evidence`, evidence)).status, 415);
  t.is((await form(id, 'provide-evidence', evidence)).status, 200);
  t.is((await get(id))['status'], 'UNDER_REVIEW');
  t.is((await shop.call('POST', `${PATH}/${id}/accept-claim`, { note: 'Yes' })).status, 422);
  t.is((await shop.call('GET', `${PATH}/PP-R-NO-1`)).status, 404);
});

test('evidence is accepted with files of the kinds and sizes that PayPal accepts', async (t) => {
  const { orderNo } = await paid();
  const id = await act(orderNo, 'open');
  await act(orderNo, 'escalate');
  const evidence = { evidences: [{ evidence_type: 'OTHER', notes: 'Delivered' }] };
  const send = async (name: string, bytes: Buffer) => {
    const body = new FormData();
    body.append('input', new Blob([JSON.stringify(evidence)], { type: 'application/json' }));
    body.append('file1', new Blob([new Uint8Array(bytes)]), name);
    const headers = { authorization: `Bearer ${shop.token}` };
    const url = `${shop.world.url}/paypal${PATH}/${id}/provide-evidence`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  const pdf = Buffer.from('%PDF-1.7');
  t.is(await send('notes.txt', Buffer.from('Delivered')), 400);
  t.is(await send('proof.png', pdf), 400, 'its bytes are those of another kind');
  t.is(await send('proof.pdf', Buffer.concat([pdf, Buffer.alloc(10 * 1024 * 1024)])), 400);
  t.is((await get(id))['status'], 'WAITING_FOR_SELLER_RESPONSE');
  t.is(await send('proof.pdf', pdf), 200);
  t.is((await get(id))['status'], 'UNDER_REVIEW');
});

test('an accepted claim refunds the capture, and a loss without a refund is only in the dispute', async (t) => {
  const first = await paid();
  const accepted = await act(first.orderNo, 'open');
  const claim = { note: 'Sorry', accept_claim_type: 'REFUND' };
  t.is((await shop.call('POST', `${PATH}/${accepted}/accept-claim`, claim)).status, 200);
  const resolved = await get(accepted);
  t.like(resolved, { status: 'RESOLVED', dispute_outcome: { outcome_code: 'RESOLVED_BUYER_FAVOUR' } });
  const status = async (captureId: string) =>
    (await shop.call('GET', `/v2/payments/captures/${captureId}`)).body['status'];
  t.is(await status(first.captureId), 'REFUNDED');
  const second = await paid();
  const lost = await act(second.orderNo, 'open');
  await act(second.orderNo, 'lose');
  t.is(await status(second.captureId), 'COMPLETED');
  const movement = { affected_party: 'SELLER', type: 'DEBIT', reason: 'DISPUTE_SETTLEMENT' };
  t.like(((await get(lost))['money_movements'] as object[])[0], movement);
});

test('disputes are listed by change or by payment, in pages, but not by both at once', async (t) => {
  const { orderNo, captureId } = await paid();
  const ids = [await act(orderNo, 'open'), await act(orderNo, 'open')];
  const list = (query: string) => shop.call('GET', `${PATH}?${query}`);
  const found = async (query: string) =>
    ((await list(query)).body['items'] as { dispute_id: string }[]).map(({ dispute_id: one }) => one).toSorted();
  t.deepEqual(await found(`disputed_transaction_id=${captureId}`), ids.toSorted());
  t.deepEqual(await found(`disputed_transaction_id=${captureId}&update_time_after=2999-01-01T00:00:00Z`), []);
  const first = await list(`disputed_transaction_id=${captureId}&page_size=1`);
  t.is((first.body['items'] as object[]).length, 1);
  t.like((first.body['links'] as object[])[0], { rel: 'next' });
  const both = `start_time=${new Date().toISOString()}&disputed_transaction_id=${captureId}`;
  for (const query of [both, 'page_size=51', 'start_time=2020-01-01T00:00:00Z', 'update_time_after=yesterday'])
    t.is((await list(query)).status, 400, query);
});
