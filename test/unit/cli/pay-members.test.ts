import test from 'ava';
import { PAY_FIELDS } from '../../../cli/commands/pay.ts';
import { paymentTools } from '../../../cli/mcp/payments.ts';
import { PlacePaymentRequest } from '../../../server/routes/schemas/orders.ts';

const members = Object.keys(PlacePaymentRequest.shape).toSorted();

/** An agent pays with a page or a code that a person opens: it has no payer's device, till or app, and no page of a shop. */
const NOT_FOR_AGENTS = ['appId', 'channelOptions', 'clientIp', 'notifyUrl', 'openId', 'payCode', 'returnUrl', 'scene'];

test('payctl pay has a flag for every member of a payment', (t) => {
  t.deepEqual(PAY_FIELDS.map(({ name }) => name).toSorted(), members);
});

test('the tool of agents has every member of a payment but those that need a device or a shop', (t) => {
  const { input } = paymentTools.find(({ name }) => name === 'place_payment')!;
  const { idempotencyKey: _, ...shape } = input.shape;
  t.deepEqual(
    Object.keys(shape).toSorted(),
    members.filter((name) => !NOT_FOR_AGENTS.includes(name)),
  );
});
