import test from 'ava';
import { CAPTURE_ISSUES, CREATE_ISSUES, REFUND_ISSUES } from './issue-table.ts';
import * as s from './scripted.ts';

for (const [meaning, issues] of Object.entries(CREATE_ISSUES))
  test(`a create refused with an issue of "${meaning}" is declined`, async (t) => {
    for (const code of issues) {
      const outcome = await s.scripted(() => s.refusal(422, code)).channel.place(s.placeOrder);
      t.like(outcome, { kind: 'declined', code, definite: meaning === 'final' });
      t.false('left' in outcome, code);
    }
  });

for (const [meaning, issues] of Object.entries(CAPTURE_ISSUES))
  test(`a capture refused with an issue of "${meaning}" is declined`, async (t) => {
    for (const code of issues) {
      const { channel } = s.scripted(({ method }) =>
        method === 'GET' ? s.json(200, s.orderBody()) : s.refusal(422, code),
      );
      const outcome = await channel.capture?.(s.orderRef);
      const left = meaning === 'doubt' ? {} : { left: meaning };
      t.like(outcome, { kind: 'declined', code, definite: meaning !== 'doubt', ...left });
      if (meaning === 'doubt') t.false(outcome && 'left' in outcome, code);
    }
  });

for (const [meaning, issues] of Object.entries(REFUND_ISSUES))
  test(`a refund refused with an issue of "${meaning}" is refused`, async (t) => {
    for (const code of issues) {
      const outcome = await s.scripted(() => s.refusal(422, code)).channel.refund(s.refundOrder);
      t.like(outcome, { kind: 'refused', code, definite: meaning === 'final' });
    }
  });

test('a request still in progress is not a refusal', async (t) => {
  for (const code of ['ORDER_COMPLETION_IN_PROGRESS', 'PREVIOUS_REQUEST_IN_PROGRESS'])
    t.like(await s.scripted(() => s.refusal(422, code)).channel.refund(s.refundOrder), {
      kind: 'unknown',
      cause: 'in_progress',
    });
});
