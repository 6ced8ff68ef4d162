import type { RefundRow } from '../../db/entities/refunds.ts';

/** Why a refund is in its state, what happens next, and what a person can do. */
export interface RefundSituation {
  code: string;
  when: (refund: RefundRow, now: Date) => boolean;
  reason: (refund: RefundRow) => string;
  next?: string;
  fix?: (refund: RefundRow) => string;
}

/** Every situation a refund can be in; the first that fits is the true one. */
export const REFUND_SITUATIONS: readonly RefundSituation[] = [
  {
    code: 'elsewhere',
    when: ({ state, elsewhere }) => state === 'succeeded' && elsewhere,
    reason: ({ origin }) =>
      origin === 'channel' ? 'It was made outside this service (R8).' : 'It was paid outside the channel (R7).',
  },
  { code: 'done', when: ({ state }) => state === 'succeeded', reason: () => 'The channel confirmed it (R3).' },
  {
    code: 'refused',
    when: ({ state }) => state === 'failed',
    reason: ({ failureCode, failureMessage }) =>
      `The channel refused it: ${failureCode} ${failureMessage ?? ''}`.trim() + ' (R4).',
    fix: ({ refundNo }) => `payctl refund retry ${refundNo}`,
  },
  {
    code: 'abnormal',
    when: ({ state }) => state === 'abnormal',
    reason: ({ failureCode, failureMessage }) =>
      `The money is neither here nor there: ${failureCode} ${failureMessage ?? ''} (R5). A person must look.`,
    fix: ({ refundNo }) => `payctl refund retry ${refundNo}, or payctl refund resolve ${refundNo}`,
  },
  {
    code: 'scheduled',
    when: ({ tries, sentAt }, now) => tries === 0 && sentAt !== null && sentAt > now,
    reason: () => 'The channel takes refunds of one order only some time apart; this one waits for its turn.',
    next: 'it is sent',
  },
  {
    code: 'unsent',
    when: ({ tries }) => tries === 0,
    reason: () => 'It is reserved and was not sent yet (R1).',
    next: 'it is sent',
  },
  {
    code: 'doubtful_refusal',
    when: ({ refusedAt, accepted }) => refusedAt !== null && !accepted,
    reason: ({ failureCode, failureMessage }) =>
      `The channel refused the call (${failureCode} ${failureMessage ?? ''}), but an earlier call may have landed: it fails only after two questions know nothing (R4).`,
    next: 'the channel is asked whether it knows the refund',
  },
  {
    code: 'accepted',
    when: ({ accepted }) => accepted,
    reason: () => 'The channel accepted it and has not finished it (R2).',
    next: 'the channel is asked whether it is done',
  },
  {
    code: 'unknown',
    when: () => true,
    reason: () => 'It was sent and no usable answer came: it may or may not have happened (R2).',
    next: 'the channel is asked; if it knows nothing the same number is sent again',
  },
];
