import test from 'ava';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import type { PayHint } from '../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../server/simulator/alipay/simulator.ts';
import { isLong } from '../../support/counts.ts';
import { isOpenedByPayer, type OrderScene, scenesOf } from '../../support/order-scenes.ts';
import { testPromises, type PromiseOptions } from './promises/simulated.ts';
import { channelSaying } from './alipay/fixture.ts';

const trade = { code: '10000', total_amount: '12.34', trade_no: '1', trade_status: 'TRADE_WONDERFUL' };

/** A page, or what an app hands to Alipay's own: both are the signed request that makes the trade. */
function opens({ type, url, params }: PayHint, simulatorUrl: string): string {
  const address = type === 'app' ? `${simulatorUrl}/alipay/gateway.do?${params?.['orderString']}` : url;
  if (!address) throw new Error(`Nobody opens ${type}.`);
  return address;
}

/** What is other in a scene than in the default one. */
function specialOf(one: OrderScene): Pick<PromiseOptions, 'order' | 'opens' | 'without'> {
  const { scene, members } = one;
  const order = () => ({ scene, ...members() });
  // A trade that begins when the payer opens it has no create whose answer is lost.
  if (isOpenedByPayer(one)) return { order, opens, without: /^a create that was answered too late/ };
  // A payer's code that is closed is cancelled, and what was paid goes back: alipay-till.test.ts and simulated.test.ts say so.
  return scene === 'code' ? { order, without: /^a paid order does not close$/ } : { order };
}

const SCENES = scenesOf('alipay');

test('every scene is here', (t) => {
  t.deepEqual(SCENES.map(({ scene }) => scene).toSorted(), Object.keys(alipayKind.scenes).toSorted());
});

// Every scene in one way of signing and some in the other; in a long run (PAY_TEST_LONG) every scene in both.
for (const one of SCENES) {
  const { scene } = one;
  const special = specialOf(one);
  for (const signMode of ['key', 'certificate']) {
    if (!isLong && signMode === 'key' && special.opens) continue;
    testPromises(test, alipayKind, {
      ...special,
      title: `${scene}, ${signMode} mode`,
      channelSimulator: alipaySimulator,
      account: { signMode },
      // The same app id with another account's keys, so that only the signature can tell them apart.
      strangerConfig: (own, other) => ({ fields: own.fields, pems: other.pems }),
      words:
        signMode === 'certificate' ? { 'unknown-serial': 'serial_unknown' } : { 'unknown-serial': 'signature_invalid' },
      unknownWord: (order) => channelSaying({ ...trade, out_trade_no: order.orderNo }).query(order),
    });
  }
}
