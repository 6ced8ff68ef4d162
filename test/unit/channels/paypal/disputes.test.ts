import test from 'ava';
import type { DisputeDesk, DisputeOutcome } from '../../../../server/payments/channel.ts';
import { json, MERCHANT, refusal, scripted } from './scripted.ts';

const ID = 'PP-R-ABC-10190228';
const money = (value: string, currency_code = 'USD') => ({ currency_code, value });

function body(change: object = {}) {
  return {
    dispute_id: ID,
    create_time: '2026-02-01T08:00:00.000Z',
    update_time: '2026-02-03T08:00:00.000Z',
    disputed_transactions: [{ seller_transaction_id: '3C679366HH908993F', seller: { merchant_id: MERCHANT } }],
    reason: 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED',
    status: 'OPEN',
    dispute_amount: money('10.00'),
    links: [],
    ...change,
  };
}

const desk = (answer: () => ReturnType<typeof json>) => {
  const { channel, sent } = scripted(answer);
  return { desk: channel.disputes as DisputeDesk, sent };
};
const read = (change: object = {}): Promise<DisputeOutcome> => desk(() => json(200, body(change))).desk.read(ID);

/** Returns the channel-independent result of a resolved dispute; `unknown` = it is queried again. */
async function endOf(outcome_code: string, more: object = {}): Promise<unknown> {
  const outcome = { outcome_code, amount_refunded: money('10.00') };
  const said = await read({ status: 'RESOLVED', dispute_outcome: outcome, ...more });
  if (said.kind !== 'found') return said.kind;
  const { state, lost } = said.dispute;
  return lost ? [state, lost.amount.minor, lost.booked] : [state];
}

test('every status maps to a state, and an unknown status decides nothing', async (t) => {
  const words = {
    OPEN: 'open',
    WAITING_FOR_SELLER_RESPONSE: 'needs_answer',
    WAITING_FOR_BUYER_RESPONSE: 'under_review',
    UNDER_REVIEW: 'under_review',
    OTHER: 'under_review',
    EATEN: 'under_review',
  };
  for (const [status, state] of Object.entries(words)) {
    const said = await read({ status });
    t.is<string, string>(said.kind === 'found' ? said.dispute.state : said.kind, state, status);
  }
});

test('only an outcome for the payer with an amount is a loss', async (t) => {
  for (const code of ['RESOLVED_BUYER_FAVOUR', 'ACCEPTED'])
    t.deepEqual(await endOf(code), ['lost', 1000n, false], code);
  for (const code of ['RESOLVED_SELLER_FAVOUR', 'RESOLVED_WITH_PAYOUT', 'CANCELED_BY_BUYER', 'DENIED', 'NONE'])
    t.deepEqual(await endOf(code), ['won'], code);
  t.is(await endOf('EATEN'), 'unknown');
  t.is(await endOf('ACCEPTED', { dispute_outcome: { outcome_code: 'ACCEPTED' } }), 'unknown');
  t.is(await endOf('ACCEPTED', { dispute_outcome: undefined }), 'unknown');
});

test('money moved from the merchant overrides the outcome, and fees and other parties do not count', async (t) => {
  const move = (type: string, value: string, more: object = {}) => {
    const usual = { affected_party: 'SELLER', reason: 'DISPUTE_SETTLEMENT', initiated_time: '2026-02-02T08:00:00Z' };
    return { ...usual, type, amount: money(value), ...more };
  };
  const fee = move('DEBIT', '20.00', { reason: 'DISPUTE_FEE' });
  const buyer = move('CREDIT', '10.00', { affected_party: 'BUYER' });
  const movements = (...money_movements: object[]) => endOf('RESOLVED_BUYER_FAVOUR', { money_movements });
  t.deepEqual(await movements(move('DEBIT', '6.00'), fee, buyer), ['lost', 600n, true]);
  t.deepEqual(await movements(move('DEBIT', '6.00'), move('CREDIT', '6.00')), ['won']);
  t.deepEqual(await movements(fee, buyer), ['lost', 1000n, false]);
});

test('a dispute of another payee is absent, and another id or an invalid response is unknown', async (t) => {
  const stranger = { disputed_transactions: [{ seller: { merchant_id: 'SOMEBODYELSE1' } }] };
  t.is((await read(stranger)).kind, 'absent');
  t.is((await read({ dispute_id: 'PP-OTHER' })).kind, 'unknown');
  t.is((await read({ dispute_amount: money('1,00') })).kind, 'unknown');
  t.is((await desk(() => json(200, {})).desk.read(ID)).kind, 'unknown');
  t.is((await desk(() => refusal(404, 'INVALID_RESOURCE_ID')).desk.read(ID)).kind, 'absent');
  t.like(await desk(() => refusal(403, 'NOT_AUTHORIZED')).desk.read(ID), { kind: 'unknown', cause: 'misconfigured' });
  const denied = await desk(() => refusal(403, 'PERMISSION_DENIED')).desk.answer(ID, 'Sent.', []);
  t.like(denied, { kind: 'unknown', refusal: { code: 'PERMISSION_DENIED' } }, 'its words reach who answered');
});

test('evidence is sent where PayPal requests it, before that a message, and nothing if PayPal offers neither', async (t) => {
  for (const [rel, verb] of [
    ['provide_evidence', 'provide-evidence'],
    ['send_message', 'send-message'],
  ] as const) {
    const { desk: paypal, sent } = desk(() => json(200, body({ links: [{ rel }] })));
    t.deepEqual(await paypal.answer(ID, 'Delivered 送达', []), { kind: 'done' });
    const last = sent.at(-1)!;
    t.true(last.url.endsWith(`/v1/customer/disputes/${ID}/${verb}`));
    const form = await new Response(new Uint8Array(last.bytes!), { headers: last.headers }).formData();
    t.true(String(form.get('input')).includes('Delivered 送达'));
  }
  const { desk: closed, sent } = desk(() => json(200, body({ status: 'UNDER_REVIEW' })));
  t.like(await closed.answer(ID, 'x', []), { kind: 'refused', code: 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE' });
  t.like(await closed.accept!(ID, 'x'), { kind: 'refused' });
  t.true(sent.every(({ method, about }) => method === 'GET' || about.call === 'token'));
});

test('the disputes of a payment are listed by its number, and an app without permission gets a refusal', async (t) => {
  const { desk: paypal, sent } = desk(() => json(200, { items: [{ dispute_id: ID, status: 'RESOLVED' }], links: [] }));
  const said = await paypal.listOf!('3C679366HH908993F', 'two=');
  t.like(said, { kind: 'listed', disputes: [{ channelDisputeNo: ID }], next: undefined });
  const { searchParams } = new URL(sent.at(-1)!.url);
  t.is(searchParams.get('disputed_transaction_id'), '3C679366HH908993F');
  t.is(searchParams.get('next_page_token'), 'two=');
  t.false(searchParams.has('update_time_after'), 'PayPal takes one of the two');
  const denied = await desk(() => refusal(403, 'PERMISSION_DENIED')).desk.listOf!('3C679366HH908993F');
  t.like(denied, { kind: 'unknown', refusal: { code: 'PERMISSION_DENIED' } });
});

test('the dispute list is read page by page and shows changes', async (t) => {
  const pages = ['a', 'b'].map((id, at) => ({
    items: [{ dispute_id: `PP-${id}`, update_time: `2026-02-0${at + 1}`, status: 'OPEN' }],
    links:
      at === 0 ? [{ rel: 'next', href: 'https://api-m.paypal.com/v1/customer/disputes?next_page_token=two%3D' }] : [],
  }));
  const { desk: paypal, sent } = desk(() => json(200, pages[sent.length - 2]));
  const since = new Date('2026-02-01T00:00:00Z');
  const first = await paypal.list(since);
  const one = { channelDisputeNo: 'PP-a', mark: '2026-02-01 OPEN' };
  t.deepEqual(first, { kind: 'listed', disputes: [one], next: 'two=' });
  const two = { channelDisputeNo: 'PP-b', mark: '2026-02-02 OPEN' };
  t.deepEqual(await paypal.list(since, 'two='), { kind: 'listed', disputes: [two], next: undefined });
  t.is(new URL(sent.at(-1)!.url).searchParams.get('next_page_token'), 'two=');
  t.is((await desk(() => json(502, {})).desk.list(since)).kind, 'unknown');
});
