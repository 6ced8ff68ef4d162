import test from 'ava';
import type { z } from 'zod';
import { PAY_FIELDS } from '../../../cli/commands/pay.ts';
import { paymentTools } from '../../../cli/mcp/payments.ts';
import { PlacePaymentRequest } from '../../../server/routes/schemas/orders.ts';

const members = Object.keys(PlacePaymentRequest.shape).toSorted();

/** An agent pays with a page or code that a person opens, so it has no payer device, till, app or shop page. */
const NOT_FOR_AGENTS = ['appId', 'channelOptions', 'clientIp', 'notifyUrl', 'openId', 'payCode', 'returnUrl', 'scene'];

test('payctl pay has a flag for every member of a payment', (t) => {
  t.deepEqual(PAY_FIELDS.map(({ name }) => name).toSorted(), members);
});

test('the agent tool has every payment member except those that need a device or a shop', (t) => {
  const { input } = paymentTools.find(({ name }) => name === 'place_payment')!;
  const { idempotencyKey: _, ...shape } = input.shape;
  t.deepEqual(
    Object.keys(shape).toSorted(),
    members.filter((name) => !NOT_FOR_AGENTS.includes(name)),
  );
});

test('the agent tool counts characters as the API does', (t) => {
  const { input } = paymentTools.find(({ name }) => name === 'place_payment')!;
  const shape = input.shape as Record<string, z.ZodType>;
  const own = PlacePaymentRequest.shape as Record<string, z.ZodType>;
  // The service checks the amount by its currency, and counts `extra` in bytes.
  const texts = Object.keys(shape).filter(
    (name) => !['amount', 'extra'].includes(name) && own[name]?.safeParse('a').success,
  );
  t.true(texts.length > 4);
  for (const name of texts)
    for (const sign of ['a', '茶', '😀'].filter((one) => own[name]!.safeParse(one).success))
      for (const length of [0, 1, 32, 33, 64, 65, 127, 128, 129, 256, 257, 500, 501, 1000, 1001, 1024, 1025, 2048]) {
        const text = sign.repeat(length);
        const isTaken = own[name]!.safeParse(text).success;
        t.is(shape[name]!.safeParse(text).success, isTaken, `${name}: ${length} × ${sign}`);
      }
});
