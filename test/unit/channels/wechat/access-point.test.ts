import test from 'ava';
import { TransportFailed, type ChannelInput } from '../../../../server/payments/channel.ts';
import { channelWith, NOW, orderRef, PLATFORM, platformInput, PUBLIC, publicKeyInput, signed, trade } from './fake.ts';

const FIRST = 'api.mch.weixin.qq.com';
const SPARE = 'api2.mch.weixin.qq.com';

/** A channel with silent hosts and a controllable clock. */
function world(input: Partial<ChannelInput> = {}) {
  const silent = new Map<string, TransportFailed['why']>();
  let now = NOW;
  const signer = input.pems?.wechat_public_key ? PUBLIC : PLATFORM;
  const { channel, sent } = channelWith(
    ({ url }) => {
      const why = silent.get(new URL(url).host);
      if (why) throw new TransportFailed(why, 'nothing answered');
      return signed(200, trade({ trade_state: 'NOTPAY' }), { signer, at: now });
    },
    { ...input, now: () => now },
  );
  const ask = async () => {
    const { kind } = await channel.query(orderRef());
    return `${new URL(sent.at(-1)!.url).host} ${kind}`;
  };
  const wait = (minutes: number) => (now = new Date(now.getTime() + minutes * 60_000));
  return { silent, sent, ask, wait };
}

for (const [mode, input] of [
  ['platform-certificate', platformInput()],
  ['public-key', publicKeyInput()],
] as const) {
  const { fields, pems } = input;

  for (const why of ['network', 'timeout'] as const) {
    test(`${mode}: after a silent host (${why}) the next calls use the spare host for five minutes`, async (t) => {
      const { silent, sent, ask, wait } = world({ fields, pems });
      t.is(await ask(), `${FIRST} pending`);
      silent.set(FIRST, why);
      t.is(await ask(), `${FIRST} unknown`);
      t.is(sent.length, 2, 'one try is one send');
      t.is(await ask(), `${SPARE} pending`);
      wait(4.9);
      t.is(await ask(), `${SPARE} pending`);
      silent.delete(FIRST);
      wait(0.2);
      t.is(await ask(), `${FIRST} pending`);
    });
  }
}

test('a silent spare host switches the next call back', async (t) => {
  const { silent, ask } = world();
  silent.set(FIRST, 'network');
  silent.set(SPARE, 'network');
  t.deepEqual(
    [await ask(), await ask(), await ask(), await ask()],
    [`${FIRST} unknown`, `${SPARE} unknown`, `${FIRST} unknown`, `${SPARE} unknown`],
  );
});

test('a response that is too large does not switch the host', async (t) => {
  const { silent, ask } = world();
  silent.set(FIRST, 'too_large');
  t.deepEqual([await ask(), await ask()], [`${FIRST} unknown`, `${FIRST} unknown`]);
});

test('the simulator has only one host', async (t) => {
  const { silent, ask } = world({ mode: 'simulator', simulatorUrl: 'http://127.0.0.1:8081' });
  silent.set('127.0.0.1:8081', 'network');
  t.deepEqual([await ask(), await ask()], ['127.0.0.1:8081 unknown', '127.0.0.1:8081 unknown']);
});
