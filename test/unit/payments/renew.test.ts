import test from 'ava';
import { canRenew, canSendAgain, decideOrder } from '../../../server/payments/core/decide-order.ts';
import { viewCredential } from '../../../server/payments/view.ts';
import { at, NOW, orderRow } from '../../support/core-rows.ts';
import { hasCredential } from '../../../server/payments/core/transitions.ts';

const pay = { type: 'redirect', url: 'https://pay.example/1' } as const;
const open = orderRow({ state: 'pending', credential: pay, expiresAt: at(3600) });

for (const [what, change, isThere, sendsAgain, renews] of [
  ['a credential that lives as long as the order', { credentialUntil: null }, true, false, false],
  ['one that is alive', { credentialUntil: at(1) }, true, false, false],
  ['one that has died', { credentialUntil: NOW }, false, true, true],
  ['none yet', { credential: null }, false, true, false],
  ['one that has died with the order', { credentialUntil: NOW, expiresAt: NOW }, false, false, false],
  [
    'one that has died, of an order that is being closed',
    { credentialUntil: NOW, state: 'closing' },
    false,
    false,
    false,
  ],
  ['one that has died, of a paid order', { credentialUntil: NOW, state: 'paid' }, false, false, false],
] as const) {
  test(`${what}: the credential is ${isThere ? '' : 'not '}valid, the create is ${sendsAgain ? '' : 'not '}sent again`, (t) => {
    const order = { ...open, ...change };
    t.is(hasCredential(order, NOW), isThere);
    t.is(canSendAgain(order, NOW), sendsAgain);
    t.is(canRenew(order, NOW), renews);
  });
}

test('a new credential replaces the old one, with its own validity', (t) => {
  const report = { outcome: { kind: 'pending', pay, paySeconds: 240 }, cause: 'query' } as const;
  const stale = {
    ...open,
    credential: { type: 'redirect', url: 'https://pay.example/0' } as const,
    credentialUntil: NOW,
  };
  const change = decideOrder(stale, {}, report, NOW);
  t.like(change, { rule: null, order: { credential: pay, credentialUntil: at(240) } });
  const lasting = decideOrder(stale, {}, { outcome: { kind: 'pending', pay }, cause: 'query' }, NOW);
  t.like(lasting, { order: { credential: pay, credentialUntil: null } });
  t.false(
    'credential' in
      ((
        decideOrder(stale, {}, { outcome: { kind: 'pending' }, cause: 'query' }, NOW) as typeof change & {
          order?: object;
        }
      ).order ?? {}),
  );
});

test('the shown payment ends with its credential, and then the link leads to our own page', (t) => {
  const seen = (change: object) => viewCredential({ ...open, ...change }, 'https://own.example', NOW);
  t.deepEqual(seen({ credentialUntil: at(240) }), {
    payment: { ...pay, expiresAt: at(240).toISOString() },
    payUrl: pay.url,
  });
  t.like(seen({ credentialUntil: null }), { payment: { expiresAt: at(3600).toISOString() } });
  t.like(seen({ credentialUntil: at(240), expiresAt: at(60) }), { payment: { expiresAt: at(60).toISOString() } });
  t.deepEqual(seen({ credentialUntil: NOW }), { payUrl: `https://own.example/pay/${open.orderNo}` });
});
