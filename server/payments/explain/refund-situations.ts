import type { Words } from '../../domain.ts';
import type { OrderExceptionRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { isExternal } from '../core/open-refund.ts';
import { type NextRefundStep, nextRefundStep } from '../core/plan.ts';
import { type Situation, either, withoutStop } from './situations.ts';

/** Explains a refund: by its next step, or by its state if the refund has ended. */
export function refundSituation(refund: RefundRow, now: Date, canRetry: boolean): Situation {
  const step = nextRefundStep(refund, now);
  const { approval, state, refundNo, actor } = refund;
  if (approval === 'waiting' && state === 'pending')
    return {
      code: 'waiting_for_approval',
      reason: {
        en: `The amount is reserved; an administrator other than ${actor} has to approve the refund.`,
        zh: `退款金额已预留，须由 ${actor} 以外的管理员审批。`,
      },
      fix: either(`payctl approval approve ${refundNo}`, `payctl approval reject ${refundNo}`),
      forMerchants: {
        reason: {
          en: 'The amount is reserved; an administrator has to approve the refund.',
          zh: '退款金额已预留，须由管理员审批。',
        },
      },
    };
  return step === 'rest' ? endedRefund(refund, canRetry) : UNDER_WAY[step](refund);
}

/** The number of the merchant is the key of its request: a request with the same number repeats the failed refund. */
function refundAgain({ merchantRefundNo }: RefundRow): Words {
  return merchantRefundNo === null
    ? { en: 'create another refund', zh: '重新发起退款' }
    : {
        en: `repeat the refund request with the merchantRefundNo ${merchantRefundNo}`,
        zh: `使用 merchantRefundNo ${merchantRefundNo} 重新发送退款请求`,
      };
}

function endedRefund(refund: RefundRow, canRetry: boolean): Situation {
  const { state, elsewhere, refundNo, approval, failureMessage } = refund;
  if (state === 'succeeded' && !elsewhere)
    return { code: 'done', reason: { en: 'The channel confirmed the refund.', zh: '渠道已确认退款成功。' } };
  if (state === 'succeeded') return { code: 'elsewhere', reason: whereElse(refund) };
  if (state === 'failed' && approval === 'rejected')
    return {
      code: 'rejected',
      reason: {
        en: `An administrator rejected the refund: ${withoutStop(failureMessage ?? '')}.`,
        zh: `管理员驳回了该退款：${withoutStop(failureMessage ?? '')}。`,
      },
    };
  const failure = failureOf(refund);
  if (state === 'failed')
    return {
      code: 'refused',
      reason: { en: `The channel refused the refund: ${failure.en}.`, zh: `渠道拒绝了该退款：${failure.zh}。` },
      ...(canRetry ? { fix: `payctl refund retry ${refundNo}`, forMerchants: { fix: refundAgain(refund) } } : {}),
    };
  const resolve = `payctl refund resolve ${refundNo}`;
  return {
    code: 'abnormal',
    reason: { en: `The refund needs manual review: ${failure.en}.`, zh: `退款异常，需要人工处理：${failure.zh}。` },
    // A refund made outside this service is never sent, so it cannot be retried.
    fix: isExternal(refund.origin) ? resolve : either(`payctl refund retry ${refundNo}`, resolve),
  };
}

function whereElse({ origin, failureMessage }: RefundRow): Words {
  if (origin === 'dispute')
    return { en: 'The money was lost to a dispute of the payer.', zh: '款项因付款人的争议被扣回。' };
  if (origin === 'channel')
    return {
      en: 'The refund was made outside this service, for example in the portal of the channel.',
      zh: '退款不是由本服务发起的，例如是在渠道商户平台上操作的。',
    };
  // `failureMessage` is the reason of an administrator. It is always stored if an administrator resolved the refund.
  return failureMessage === null
    ? {
        en: 'The channel paid the refund to the own account of the merchant, who has to pay the payer.',
        zh: '渠道把退款退到了商户自己的账户，须由商户付给付款人。',
      }
    : { en: 'The payer was refunded outside the channel.', zh: '已在渠道之外退款给付款人。' };
}

/** Whether an exception reports that the channel made a refund that an administrator had already paid another way. */
export function isPaidTwice({ kind, refundNo, detail }: OrderExceptionRow, refund: RefundRow): boolean {
  return kind === 'refund_elsewhere' && refundNo === refund.refundNo && detail?.['paidTwice'] === true;
}

/** The situation of a refund whose money the payer received twice. */
export function paidTwice({ id, detail }: OrderExceptionRow): Situation {
  const reason = String(detail?.['reason']);
  return {
    code: 'paid_twice',
    reason: {
      en: `The channel made the refund after all, and the payer was refunded outside the channel as well (${reason}). The payer has the money twice.`,
      zh: `渠道最终完成了退款，而此前已在渠道之外退给付款人（${reason}）。付款人收到了两份退款。`,
    },
    fix: `payctl exception resolve ${id} --action acknowledge --reason …`,
    forMerchants: {
      reason: {
        en: 'The channel made the refund after all, and the payer was refunded outside the channel as well. The payer has the money twice.',
        zh: '渠道最终完成了退款，而此前已在渠道之外退给付款人。付款人收到了两份退款。',
      },
    },
  };
}

const UNDER_WAY: Readonly<Record<Exclude<NextRefundStep, 'rest'>, (refund: RefundRow) => Situation>> = {
  await_slot: () => ({
    code: 'scheduled',
    reason: {
      en: 'The channel requires a delay between refunds of the same order; this refund is queued.',
      zh: '渠道要求同一订单的两次退款之间有间隔，该退款正在排队。',
    },
    next: { en: 'the refund is sent', zh: '发送退款请求' },
  }),
  send: () => ({
    code: 'unsent',
    reason: { en: 'The refund is reserved but has not been sent yet.', zh: '退款金额已预留，尚未发送。' },
    next: { en: 'the refund is sent', zh: '发送退款请求' },
  }),
  confirm_refusal: (refund) => ({
    code: 'doubtful_refusal',
    reason: {
      en: `The channel refused the request (${failureOf(refund).en}), but an earlier request may have succeeded; the refund fails only after two queries do not find it.`,
      zh: `渠道拒绝了本次请求（${failureOf(refund).zh}），但此前的请求可能已经成功；两次查询均查无此退款时，才判定为失败。`,
    },
    next: { en: 'the channel is queried for the refund', zh: '向渠道查询该退款' },
  }),
  ask_if_done: () => ({
    code: 'accepted',
    reason: { en: 'The channel is processing the refund.', zh: '渠道正在处理该退款。' },
    next: { en: 'the channel is queried for the result', zh: '向渠道查询结果' },
  }),
  ask_if_known: () => ({
    code: 'unknown',
    reason: {
      en: 'The refund was sent without a usable response; it may or may not have succeeded.',
      zh: '退款请求已发出，但没有得到有效响应，结果未知。',
    },
    next: {
      en: 'the channel is queried; if it has no such refund, it is sent again under the same number',
      zh: '向渠道查询；如果查无此退款，则以同一退款单号重新发送',
    },
  }),
};

function failureOf({ failureCode, failureMessage }: RefundRow): Words {
  const said = withoutStop([failureCode, failureMessage].filter(Boolean).join(' '));
  return said === '' ? { en: 'no reason given', zh: '未说明原因' } : { en: said, zh: said };
}
