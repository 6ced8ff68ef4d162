import test from 'ava';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import type { PayHint } from '../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../server/simulator/alipay/simulator.ts';
import { isLong } from '../../support/counts.ts';
import { isOpenedByPayer, type OrderScene, scenesOf } from '../../support/order-scenes.ts';
import { testPromises, type PromiseOptions } from './promises/simulated.ts';
import { channelSaying } from './alipay/fixture.ts';

const trade = { code: '10000', total_amount: '12.34', trade_no: '1', trade_status: 'TRADE_WONDERFUL' };

/** Returns the URL that the payer opens; a page and an app hold the same signed request that creates the trade. */
function opens({ type, url, params }: PayHint, simulatorUrl: string): string {
  const address = type === 'app' ? `${simulatorUrl}/alipay/gateway.do?${params?.['orderString']}` : url;
  if (!address) throw new Error(`Nobody opens ${type}.`);
  return address;
}

/** The options of a scene that differ from the default. */
function specialOf(one: OrderScene): Pick<PromiseOptions, 'order' | 'opens' | 'without'> {
  const { scene, members } = one;
  const order = () => ({ scene, ...members() });
  // A trade that starts when the payer opens it has no create response that could be lost.
  if (isOpenedByPayer(one)) return { order, opens, without: /^a create with a late response/ };
  // A close of a code payment cancels and refunds it; alipay-till.test.ts and simulated.test.ts cover that.
  return scene === 'code' ? { order, without: /^a paid order does not close$/ } : { order };
}

const SCENES = scenesOf('alipay');

test('every scene is tested', (t) => {
  t.deepEqual(SCENES.map(({ scene }) => scene).toSorted(), Object.keys(alipayKind.scenes).toSorted());
});

// A short run covers each scene in one signing mode or the other; a long run (PAY_TEST_LONG) covers both.
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
      // The same app id with another account's keys, so that only the signature differs.
      strangerConfig: (own, other) => ({ fields: own.fields, pems: other.pems }),
      words:
        signMode === 'certificate' ? { 'unknown-serial': 'serial_unknown' } : { 'unknown-serial': 'signature_invalid' },
      unknownWord: (order) => channelSaying({ ...trade, out_trade_no: order.orderNo }).query(order),
    });
  }
}
