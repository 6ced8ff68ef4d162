import test from 'ava';
import { watched } from '../../../server/credentials/channels.ts';
import { statusOf } from '../../../server/credentials/status.ts';
import {
  type BillDesk,
  type CaptureRef,
  type Channel,
  NotificationNotGenuine,
  type OrderRef,
  type Outcome,
  type PlaceOrder,
  type UnknownCause,
} from '../../../server/payments/channel.ts';
import { fakeKind } from './stage.ts';

function channelThat(says: Outcome): Channel {
  const { create } = fakeKind();
  const input = {
    mode: 'live',
    fields: {},
    pems: {},
    simulatorUrl: null,
    send: async () => Promise.reject(),
    now: () => new Date(),
  } as const;
  return { ...create(input), place: async () => says };
}

test('a valid response is a success, a timeout or an invalid response a failure, and our own timing neither', async (t) => {
  const heard = async (says: Outcome) => {
    const words: (UnknownCause | null)[] = [];
    await watched(channelThat(says), (word) => words.push(word)).place({} as PlaceOrder);
    return words;
  };
  t.deepEqual(await heard({ kind: 'pending' }), [null]);
  t.deepEqual(await heard({ kind: 'declined', code: 'NO', reason: 'no', definite: true }), [null]);
  t.deepEqual(await heard({ kind: 'unknown', cause: 'timeout' }), ['timeout']);
  t.deepEqual(await heard({ kind: 'unknown', cause: 'signature_invalid' }), ['signature_invalid']);
  t.deepEqual(await heard({ kind: 'unknown', cause: 'busy' }), []);
  t.deepEqual(await heard({ kind: 'unknown', cause: 'mismatch' }), []);
});

test('a notification with an incomplete certificate chain is a failure, genuine or not', async (t) => {
  const read = async (readNotification: Channel['readNotification']) => {
    const words: (UnknownCause | null)[] = [];
    const channel = watched({ ...channelThat({ kind: 'pending' }), readNotification }, (word) => words.push(word));
    await channel
      .readNotification({}, Buffer.alloc(0))
      .catch((error: unknown) => t.true(error instanceof NotificationNotGenuine));
    return words;
  };
  const notification = { notificationId: '1', account: 'a', event: 'E', orderNo: null, refundNo: null };
  t.deepEqual(await read(async () => ({ ...notification, amiss: 'chain_incomplete' })), ['chain_incomplete']);
  t.deepEqual(await read(async () => notification), []);
  const refuse = (why: NotificationNotGenuine['why']) => () => Promise.reject(new NotificationNotGenuine(why, 'No.'));
  t.deepEqual(await read(refuse('chain_incomplete')), ['chain_incomplete']);
  t.deepEqual(await read(refuse('signature_invalid')), []);
});

test('a watched channel has exactly the methods of the channel', async (t) => {
  const plain = channelThat({ kind: 'pending' });
  t.is(watched(plain, () => {}).capture, undefined);
  t.is(watched(plain, () => {}).retryAbnormalRefund, undefined);
  const words: (UnknownCause | null)[] = [];
  const capturing: Channel = {
    ...plain,
    async capture({ captureNo }) {
      return { kind: 'unknown', cause: this === capturing && captureNo === 'c1' ? 'timeout' : 'network' };
    },
  };
  await watched(capturing, (word) => words.push(word)).capture?.({ captureNo: 'c1' } as CaptureRef);
  t.deepEqual(words, ['timeout']);
});

test('bill downloads do not affect the health of the payment channel', async (t) => {
  const words: (UnknownCause | null)[] = [];
  const plain = channelThat({ kind: 'pending' });
  t.is(watched(plain, (word) => words.push(word)).bills, undefined);
  const bills: BillDesk = {
    rate: { share: '0.006', fixed: 0n, fixedCurrency: null },
    fetch: async () => ({ kind: 'unknown', cause: 'timeout' }),
    payeeIn: async () => 'P1',
    async *read() {},
  };
  const seen = watched({ ...plain, bills }, (word) => words.push(word)).bills;
  t.is(seen?.rate, bills.rate);
  t.is(await seen?.payeeIn('file'), 'P1');
  for await (const part of seen!.read('file', '2030-01-01')) t.fail(part.kind);
  await seen?.fetch('2030-01-01');
  t.deepEqual(words, []);
});

test('every call is reported with its result, including results that do not affect health', async (t) => {
  const calls: string[] = [];
  const plain = channelThat({ kind: 'declined', code: 'NO', reason: 'no', definite: true });
  const disputes = {
    read: async () => ({ kind: 'absent' }) as const,
    list: () => Promise.reject(new Error('broken')),
    answer: async () => ({ kind: 'done' }) as const,
  };
  const query: Channel['query'] = async () => ({ kind: 'unknown', cause: 'timeout' });
  const seen = watched(
    { ...plain, query, disputes },
    () => {},
    ({ payWay, call, outcome, seconds }) => void calls.push(`${payWay} ${call} ${outcome} ${seconds >= 0}`),
  );
  await seen.place({} as PlaceOrder);
  await seen.query({} as OrderRef);
  await seen.disputes?.read('D1');
  await t.throwsAsync(async () => seen.disputes?.list(new Date()), { message: 'broken' });
  t.is(seen.disputes?.accept, undefined);
  t.deepEqual(calls, [
    'alipay place declined true',
    'alipay query unknown_timeout true',
    'alipay dispute_read absent true',
    'alipay dispute_list thrown true',
  ]);
});

test('the latest result decides the health until it is outdated', (t) => {
  const now = new Date('2030-01-01T12:00:00Z');
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
  const status = (success: number | null, failure: number | null, more: object = {}) =>
    statusOf(
      {
        configured: true,
        enabled: true,
        lastSuccessAt: success === null ? null : ago(success),
        lastFailureAt: failure === null ? null : ago(failure),
        certsExpireAt: null,
        ...more,
      },
      now,
    );
  t.is(status(null, null), 'up');
  t.is(status(10, null), 'up');
  t.is(status(null, 10), 'down');
  t.is(status(300, 10), 'down');
  t.is(status(30, 10), 'degraded');
  t.is(status(10, 30), 'degraded');
  t.is(status(10, 300), 'up');
  t.is(status(86_400, 3600), 'degraded');
  t.is(status(10, null, { certsExpireAt: ago(-29 * 86_400) }), 'degraded');
  t.is(status(10, null, { certsExpireAt: ago(-31 * 86_400) }), 'up');
  t.is(status(null, 10, { enabled: false }), 'disabled');
  t.is(status(10, null, { configured: false, enabled: false }), 'unconfigured');
});
