import test from 'ava';
import { billedShop } from '../support/billed-shop.ts';
import { startService } from '../support/service.ts';

/** Usual dispute histories: the actions of payer, merchant and PayPal. */
const LIVES: Readonly<Record<string, readonly object[]>> = {
  open: [{ act: 'open' }],
  'open in part': [{ act: 'open', amount: 4 }],
  'lost untold': [{ act: 'open' }, { act: 'escalate' }, { act: 'lose', refund: 'untold' }],
  'lost told': [{ act: 'open' }, { act: 'escalate' }, { act: 'lose', refund: 'told' }],
  'lost, paid by PayPal': [{ act: 'open' }, { act: 'escalate' }, { act: 'lose', refund: 'payout' }],
  'lost in part': [{ act: 'open', amount: 4 }, { act: 'escalate' }, { act: 'lose', refund: 'untold' }],
  won: [{ act: 'open' }, { act: 'escalate' }, { act: 'win' }],
  'lost and won': [
    { act: 'open' },
    { act: 'escalate' },
    { act: 'lose', refund: 'untold' },
    { act: 'appeal' },
    { act: 'win' },
  ],
  'lost, won, lost': [
    { act: 'open' },
    { act: 'escalate' },
    { act: 'lose', refund: 'untold' },
    { act: 'appeal' },
    { act: 'win' },
    { act: 'appeal' },
    { act: 'lose', refund: 'untold' },
  ],
  'two in parts': [
    { act: 'open', amount: 4 },
    { act: 'lose', refund: 'untold' },
    { act: 'open', amount: 4 },
    { act: 'lose', refund: 'untold' },
  ],
  'refunded while it is open': [{ act: 'open' }, { refund: true }, { act: 'cancel' }],
  'refunded in part, then lost': [
    { act: 'open' },
    { refund: true },
    { act: 'escalate' },
    { act: 'lose', refund: 'untold' },
  ],
};

test('a dispute that is stored here causes no difference in any of its states', async (t) => {
  const service = await startService(t);
  const shop = await billedShop(service, 'paypal');
  const names = new Map<string, string>();
  for (const [name, actions] of Object.entries(LIVES)) {
    const orderNo = await shop.paid();
    names.set(orderNo, name);
    for (const action of actions) {
      if ('refund' in action && action.refund === true)
        await shop.refunded(orderNo).catch((error: unknown) => t.log(name, 'refund', String(error)));
      else
        await service
          .sim('/sim/dispute', { orderNo, ...action })
          .catch((error: unknown) => t.log(name, action, String(error)));
      for (let rest = 1; rest > 0;) rest = await service.app.sweep.once();
    }
  }
  for (let day = 0; day < 3; day += 1) {
    await shop.nextDay();
    await service.app.bills.plan();
    for (let rest = 1; rest > 0;) rest = await service.app.bills.sweep.once();
    for (let rest = 1; rest > 0;) rest = await service.app.sweep.once();
    const found = (await shop.differences()).map((line) => {
      const [kind, orderNo, state] = line.split(' ');
      return `${kind} ${state} (${names.get(orderNo!)})`;
    });
    t.log(`day ${day}`, found);
    t.deepEqual(found, [], `day ${day}`);
  }
  t.log(
    (await service.app.store.read((tx) => tx.disputes.list({}))).map(
      (d) => `${names.get(d.orderNo)}: ${d.state} ${d.amount}/${d.amountLost}`,
    ),
  );
});
