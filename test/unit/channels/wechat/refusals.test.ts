import test from 'ava';
import type { Channel, RefusalDoubt, UnknownCause } from '../../../../server/payments/channel.ts';
import { unknownOutcome } from '../../../../server/payments/errors.ts';
import {
  channelWith,
  orderRef,
  PLATFORM,
  platformInput,
  placeOrder,
  PUBLIC,
  publicKeyInput,
  refundOrder,
  signed,
  unsigned,
} from './fake.ts';
import { REFUSAL_TABLES, type Meaning, type RefusedCall } from './refusal-codes.ts';

/** The members of a call result that the tables check. */
interface Said {
  kind: string;
  definite?: boolean;
  cause?: UnknownCause;
  code?: string;
  reason?: string;
  doubt?: RefusalDoubt;
}

const CALLS: Readonly<Record<RefusedCall, (channel: Channel) => Promise<Said>>> = {
  create: (channel) => channel.place(placeOrder()),
  query: (channel) => channel.query(orderRef()),
  close: (channel) => channel.close(orderRef()),
  refund: (channel) => channel.refund(refundOrder({ channelTradeNo: '4200001234202603040000000001' })),
  'refund-query': (channel) => channel.queryRefund({ ...refundOrder(), channelRefundNo: null }),
};

const LATER: readonly UnknownCause[] = ['busy', 'http_status', 'in_progress'];

function meaningOf(call: RefusedCall, { kind, definite, cause }: Said): Meaning | string {
  if (kind === 'absent' || kind === 'paid' || kind === 'closed') return kind;
  if (kind === 'declined') return definite ? 'final' : 'ask';
  // After a refused close the trade must be queried.
  if (kind === 'refused') return call === 'refund' ? 'final' : 'ask';
  if (cause === 'misconfigured') return 'configuration';
  if (cause === 'rejected') return 'ask';
  return cause && LATER.includes(cause) ? 'later' : `${kind} ${cause}`;
}

/** Returns the error code that the merchant receives. */
function heardOf({ kind, definite, cause, doubt }: Said): string {
  if (kind === 'declined' && doubt) return 'channel_refusal_inconclusive';
  if (kind === 'declined') return definite ? 'channel_refused' : 'channel_answer_unusable';
  return unknownOutcome({ orderNo: 'ORDER00001', payWay: 'wechat' }, { cause: cause! }).code;
}

const HEARD: Readonly<Partial<Record<Meaning, string>>> = {
  final: 'channel_refused',
  ask: 'channel_refusal_inconclusive',
  configuration: 'channel_answer_unusable',
  later: 'channel_outcome_unknown',
};

for (const [mode, { fields, pems }, signer] of [
  ['platform-certificate', platformInput(), PLATFORM],
  ['public-key', publicKeyInput(), PUBLIC],
] as const) {
  for (const { call, rows, source } of REFUSAL_TABLES) {
    for (const { status, code, meaning, message = 'no' } of rows) {
      test(`${mode}: a ${call} refused with ${status} ${code} ${message === 'no' ? '' : message} means ${meaning}`, async (t) => {
        // WeChat Pay signs every response except a signature refusal.
        const answer =
          status === 401 ? unsigned(status, { code, message }) : signed(status, { code, message }, { signer });
        const said = await CALLS[call](channelWith(() => answer, { fields, pems }).channel);
        const expected = call === 'create' && meaning === 'configuration' ? 'ask' : meaning;
        t.is(meaningOf(call, said), expected, `${JSON.stringify(said)}; ${source}`);
        if (call === 'create') t.is(heardOf(said), HEARD[meaning] ?? meaning);
        if (said.kind === 'declined' || said.kind === 'refused') {
          t.is(said.code, code, 'the code reaches the merchant');
          t.is(said.reason, message);
        }
      });
    }
  }
}

test('an unsigned refusal is never final', async (t) => {
  for (const { code, status } of REFUSAL_TABLES.find(({ call }) => call === 'create')?.rows ?? []) {
    const said: Said = await channelWith(() => unsigned(status, { code, message: '' })).channel.place(placeOrder());
    t.not(said.definite, true, code);
    t.is(said.doubt, undefined, code);
  }
});

test('a refund of a payment that is neither notified nor found is refused', async (t) => {
  const { channel } = channelWith(() => signed(404, { code: 'RESOURCE_NOT_EXISTS', message: 'no' }));
  t.like(await channel.refund(refundOrder()), { kind: 'refused', code: 'RESOURCE_NOT_EXISTS' });
});
