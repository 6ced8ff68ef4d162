import test from 'ava';
import { channelWith, orderRef, placeOrder, platformInput, signed, trade, unsigned } from './fake.ts';

const { fields } = platformInput();
const [DEFAULT, FIRST, SECOND, MOBILE] = [
  fields.appId!,
  'wx00000000000000a1',
  'wx00000000000000a2',
  'wx00000000000000b1',
];
const several = { fields: { ...fields, appIdJsapi: `${FIRST}, ${SECOND}`, appIdApp: MOBILE } };

test('each scene lists its own apps first, then the default and the other apps', (t) => {
  const { channel } = channelWith(() => unsigned(500), several);
  t.deepEqual(channel.appIds?.('jsapi'), [FIRST, SECOND, DEFAULT, MOBILE]);
  t.deepEqual(channel.appIds?.('app'), [MOBILE, DEFAULT, FIRST, SECOND]);
  t.deepEqual(channel.appIds?.('qr'), [DEFAULT, FIRST, SECOND, MOBILE]);
  t.deepEqual(channelWith(() => unsigned(500)).channel.appIds?.('jsapi'), [DEFAULT]);
});

test('an order is placed with its pinned app, and its payment parameters name that app', async (t) => {
  const { channel, sent } = channelWith(() => signed(200, { prepay_id: 'wx1' }), several);
  const jsapi = await channel.place(placeOrder({ scene: 'jsapi', openId: 'o1', appId: SECOND }));
  const app = await channel.place(placeOrder({ scene: 'app', appId: MOBILE }));
  t.deepEqual(
    sent.map(({ body }) => JSON.parse(body ?? '').appid),
    [SECOND, MOBILE],
  );
  t.is(jsapi.kind === 'pending' && jsapi.pay?.params?.appId, SECOND);
  t.is(app.kind === 'pending' && app.pay?.params?.appid, MOBILE);
});

test('a response must match the pinned app, even if the configuration has changed', async (t) => {
  const former = 'wx00000000000000ff';
  const { channel } = channelWith(() => signed(200, trade({ appid: former })), several);
  t.is((await channel.query(orderRef({ appId: former }))).kind, 'paid');
  t.like(await channel.query(orderRef({ appId: FIRST })), { kind: 'unknown', cause: 'mismatch' });
  t.like(await channel.query(orderRef()), { kind: 'unknown', cause: 'mismatch' });
});
