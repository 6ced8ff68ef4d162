import test from 'ava';
import fc from 'fast-check';
import { NotificationNotGenuine, type WireAnswer } from '../../../../server/payments/channel.ts';
import { channelWith, orderRef, refunded, refundOrder, signed, trade, unsigned } from './fake.ts';

const HEADERS = ['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-serial', 'wechatpay-signature'];

/** One changed byte of the body or character of one of the four headers. */
const change = fc.record({
  where: fc.constantFrom('body', ...HEADERS),
  at: fc.nat(10_000),
  to: fc.integer({ min: 0x21, max: 0x7e }),
});

function changed(
  answer: WireAnswer,
  { where, at, to }: { where: string; at: number; to: number },
): WireAnswer | undefined {
  const text = where === 'body' ? answer.body.toString('latin1') : (answer.headers[where] ?? '');
  const index = at % text.length;
  const other = text.slice(0, index) + String.fromCharCode(to) + text.slice(index + 1);
  if (other === text) return undefined;
  if (where === 'body') return { ...answer, body: Buffer.from(other, 'latin1') };
  return { ...answer, headers: { ...answer.headers, [where]: other } };
}

/** A change of case or leading zeros of a serial, or of spare bits in the last base64 character, is harmless. */
function isHarmless(original: WireAnswer, spoilt: WireAnswer): boolean {
  const serial = (answer: WireAnswer) => answer.headers['wechatpay-serial']?.toLowerCase();
  const bits = (answer: WireAnswer) =>
    Buffer.from(answer.headers['wechatpay-signature'] ?? '', 'base64').toString('hex');
  const rest = (answer: WireAnswer) => [
    answer.body.toString('hex'),
    ...HEADERS.slice(0, 2).map((name) => answer.headers[name]),
  ];
  const parts = (answer: WireAnswer) => JSON.stringify([serial(answer), bits(answer), ...rest(answer)]);
  return parts(original) === parts(spoilt);
}

test('a signed response with any changed byte pays, refunds and closes nothing', async (t) => {
  const paid = signed(200, trade());
  const done = signed(200, refunded({ status: 'SUCCESS' }));
  const closed = signed(204, '');
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(paid, done, closed), change, async (original, how) => {
      const spoilt = original.body.length === 0 && how.where === 'body' ? undefined : changed(original, how);
      if (!spoilt || isHarmless(original, spoilt)) return;
      const { channel } = channelWith(({ url }) => (url.endsWith('/v3/certificates') ? unsigned(404) : spoilt));
      const outcomes = [
        await channel.query(orderRef()),
        await channel.close(orderRef()),
        await channel.queryRefund({ ...refundOrder(), channelRefundNo: null }),
      ];
      t.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['unknown', 'unknown', 'unknown'],
      );
    }),
    { numRuns: 150 },
  );
});

test('a notification of any bytes is rejected as not genuine, without another error', async (t) => {
  const { channel } = channelWith(() => unsigned(404));
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...HEADERS), fc.string()),
      fc.uint8Array(),
      async (headers, bytes) => {
        await t.throwsAsync(channel.readNotification(headers, Buffer.from(bytes)), {
          instanceOf: NotificationNotGenuine,
        });
      },
    ),
    { numRuns: 100 },
  );
});

test('any signed object gives an outcome without an error', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.object(), async (body) => {
      const { channel } = channelWith(() => signed(200, body));
      const { kind } = await channel.query(orderRef());
      t.true(kind === 'unknown' || kind === 'pending');
      t.is((await channel.queryRefund({ ...refundOrder(), channelRefundNo: null })).kind, 'unknown');
    }),
    { numRuns: 60 },
  );
});
