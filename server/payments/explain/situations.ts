import { CHANNELS, type CloseReason, type Words } from '../../domain.ts';
import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import { MOST_APPROVALS_ASKED, decideOrder } from '../core/decide-order.ts';
import { type NextStep, endOf, nextStep } from '../core/plan.ts';
import { majorText } from '../../money.ts';

/** Texts for PayPal's `status_details.reason` of a pending capture (Payments API v2). */
const HELD_WORDS: Readonly<Record<string, Words>> = {
  ECHECK: { en: "The payer's eCheck has not cleared yet", zh: '付款人的电子支票（eCheck）尚未兑付' },
  TRANSACTION_APPROVED_AWAITING_FUNDING: {
    en: 'The payer still has to send the money to the channel',
    zh: '付款人尚未把款项付给渠道',
  },
  INTERNATIONAL_WITHDRAWAL: {
    en: "The payment waits until it is accepted or denied in the merchant's account",
    zh: '该笔款项须由商户在其账户中手动接受或拒绝',
  },
  RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION: {
    en: "The payment waits until it is accepted or denied in the merchant's account, whose settings ask for that, for example because of its currency",
    zh: '该笔款项须由商户在其账户中手动接受或拒绝：账户设置要求人工处理，例如因为币种',
  },
  UNILATERAL: {
    en: "The payment waits until the merchant's account is open, with a confirmed email address",
    zh: '商户账户开通并验证邮箱后，款项才会入账',
  },
  VERIFICATION_REQUIRED: {
    en: "The payment waits until the merchant's account is verified",
    zh: '款项等待商户账户通过认证',
  },
  BUYER_COMPLAINT: { en: 'The payer has complained about the payment', zh: '付款人已投诉该笔支付' },
  CHARGEBACK: { en: 'The payer has taken the money back at the bank', zh: '付款人已通过银行撤回款项（拒付）' },
};

interface Scene {
  order: OrderRow;
  exceptions: readonly OrderExceptionRow[];
  now: Date;
  /** Whether the channel simulator is on. While it is off, simulator orders are frozen: no step runs for them. */
  simulated: boolean;
  /** Whether another order with the same merchantOrderNo can still be paid, or is paid. */
  sibling: boolean;
}

/** The situation of an order or a refund. */
export interface Situation {
  code: string;
  reason: Words;
  /** The automatic step at the order's next check; absent = none. */
  next?: Words;
  /** The command to run, if the operator must act. A command is the same in both languages. */
  fix?: string | Words;
  /**
   * The words for the merchant instead: a reason that names nothing of others, and a remedy that a merchant can use;
   * null = none is needed. Without a remedy for merchants, `fix` becomes the advice to ask the operator.
   */
  forMerchants?: { reason?: Words; fix?: Words | null };
}

/** The reader of an explanation: an administrator, or the merchant of the order. */
export type Reader = 'administrator' | 'merchant';

const ASK_OPERATOR: Words = {
  en: 'ask the operator of the payment service, with the order number',
  zh: '请联系支付服务的运营方，并提供订单号',
};

/** The reason and the remedy of a situation in the words for one reader. */
export function wordsFor(
  reader: Reader,
  { reason, fix, forMerchants = {} }: Situation,
  language: keyof Words,
): { reason: string; fix: string | null } {
  const isMerchant = reader === 'merchant';
  const remedy = isMerchant ? (forMerchants.fix ?? (forMerchants.fix === undefined && fix ? ASK_OPERATOR : null)) : fix;
  return {
    reason: ((isMerchant && forMerchants.reason) || reason)[language],
    fix: typeof remedy === 'object' && remedy !== null ? remedy[language] : (remedy ?? null),
  };
}

/** Explains an order: by the exception that blocks the order, otherwise by the next automatic step. */
export function situationOf(scene: Scene): Situation {
  const { order, now, simulated } = scene;
  if (order.mode === 'simulator' && !simulated)
    return {
      code: 'frozen',
      reason: {
        en: 'This is a simulator order, and the simulator is off, so the order is frozen. It continues when the setting Debug is true, or, in the environment staging, when Simulator.Url is set.',
        zh: '这是模拟器订单，而模拟器已关闭，因此订单被冻结。将配置 Debug 设为 true，或在 staging 环境中设置 Simulator.Url 后，订单继续处理。',
      },
      forMerchants: {
        reason: {
          en: 'This is a simulator order, and the simulator is off, so the order is frozen.',
          zh: '这是模拟器订单，而模拟器已关闭，因此订单被冻结。',
        },
      },
    };
  return blocked(scene) ?? STEPS[nextStep(order, now)](scene);
}

function blocked(scene: Scene): Situation | undefined {
  const { order } = scene;
  const mismatch = openOf(scene, 'amount_mismatch');
  if (mismatch) {
    const [got, due] = [received(mismatch, order), money(order.amount, order.currency)];
    return {
      code: 'amount_mismatch',
      reason: {
        en: `The channel received ${got}, but the order amount is ${due}. A payment of a different amount never settles an order.`,
        zh: `渠道收到 ${got}，而订单金额为 ${due}。金额不符的付款不会使订单变为已支付。`,
      },
      fix: `payctl exception resolve ${mismatch.id} --action refund --reason …`,
    };
  }
  const anothers = order.paid === 0n ? openOf(scene, 'payment_of_another_order') : undefined;
  if (anothers) {
    const owner = String(anothers.detail?.['owner']);
    return {
      code: 'payment_of_another_order',
      reason: {
        en: `The channel reports the payment ${anothers.dedupe}, which already belongs to the order ${owner}. One payment settles one order.`,
        zh: `渠道上报的支付交易号 ${anothers.dedupe} 已属于订单 ${owner}。一笔付款只能对应一笔订单。`,
      },
      next: { en: 'the channel is queried again', zh: '再次向渠道查单' },
      fix: `payctl exception resolve ${anothers.id} --action acknowledge --reason …`,
      forMerchants: {
        reason: {
          en: 'The channel reports a payment that already belongs to another order. One payment settles one order.',
          zh: '渠道上报的支付交易号已属于另一笔订单。一笔付款只能对应一笔订单。',
        },
      },
    };
  }
  const unexplained = openOf(scene, 'refund_unexplained');
  if (unexplained)
    return {
      code: 'refund_unexplained',
      reason: {
        en: 'The channel reports a refund that this service did not make. New refunds are blocked until the exception is resolved.',
        zh: '渠道上报了一笔并非由本服务发起的退款。异常处理完毕之前，该订单不能继续退款。',
      },
      fix: `payctl exception resolve ${unexplained.id} --action acknowledge --reason …`,
    };
  return undefined;
}

const STEPS: Readonly<Record<NextStep, (scene: Scene) => Situation>> = {
  rest: paid,
  look_for_late_money: ended,
  await_capture: () => ({
    code: 'capture_running',
    reason: { en: 'The payer approved; the capture is in progress.', zh: '付款人已授权，正在请款。' },
    next: {
      en: 'if there is no response, the channel is queried for the capture',
      zh: '如果没有响应，则向渠道查询请款结果',
    },
  }),
  capture: () => ({
    code: 'capture_running',
    reason: { en: 'The payer approved.', zh: '付款人已授权。' },
    next: { en: 'the money is captured', zh: '请款' },
  }),
  settle_capture: () => ({
    code: 'capture_unknown',
    reason: {
      en: 'The capture was sent but its response was lost; it may or may not have succeeded.',
      zh: '请款请求已发出，但没有收到响应，结果未知。',
    },
    next: { en: 'the channel is queried before any retry', zh: '先向渠道查询结果，再决定是否重试' },
  }),
  await_review: held,
  expire: () => ({
    code: 'expiring',
    reason: { en: 'The order has expired.', zh: '订单已过期。' },
    next: {
      en: 'the channel is queried a last time, then the order is closed there',
      zh: '最后一次向渠道查单，然后在渠道关闭订单',
    },
  }),
  ask: ({ order }) => (order.state === 'created' ? unplaced(order) : (declined(order) ?? waiting(order))),
  close: closing,
  give_up: closing,
};

/** The situation of an order whose captured payment is still pending at the channel. */
function held(scene: Scene): Situation {
  const { captureReason } = scene.order;
  const listed = openOf(scene, 'capture_held');
  const words = (captureReason && HELD_WORDS[captureReason]) || {
    en: 'The channel is reviewing the payment',
    zh: '渠道正在审核该笔支付',
  };
  const named = captureReason ? { en: ` (${captureReason})`, zh: `（${captureReason}）` } : { en: '', zh: '' };
  return {
    code: listed ? 'capture_held' : 'capture_pending',
    reason: {
      en: `${words.en}${named.en}. The order does not expire while the payment is pending at the channel.`,
      zh: `${words.zh}${named.zh}。支付在渠道待定期间，订单不会过期。`,
    },
    next: { en: 'the channel is queried for the result', zh: '向渠道查询结果' },
    ...(listed ? { fix: `payctl exception resolve ${listed.id} --action close --reason …` } : {}),
    forMerchants: { fix: null },
  };
}

/** The channel refused a capture and the payer can choose another payment method; undefined in any other case. */
function declined({ approvalsAsked, captureReason, approvalAskedAt }: OrderRow): Situation | undefined {
  if (approvalsAsked === 0 || captureReason === null) return undefined;
  const isLast = MOST_APPROVALS_ASKED - approvalsAsked <= 0;
  return {
    code: 'payer_must_act',
    reason: {
      en: `The channel refused the payer's payment method (${captureReason}); nothing was charged. The payer has to choose another one at the channel${isLast ? ', for the last time' : ''}.`,
      zh: `渠道拒绝了付款人的付款方式（${captureReason}），没有扣款。付款人须在渠道页面${isLast ? '最后一次' : ''}改选其他付款方式。`,
    },
    next:
      approvalAskedAt === null
        ? { en: 'the channel is queried for the approval', zh: '向渠道查询付款人是否已授权' }
        : {
            en: 'the money is captured once the payer has approved again; otherwise the order expires',
            zh: '付款人重新授权后请款；否则订单到期关闭',
          },
  };
}

function waiting({ scene }: OrderRow): Situation {
  if (scene === 'code')
    return {
      code: 'waiting_for_payer',
      reason: {
        en: 'The code of the payer was scanned; the payer has to confirm the payment on the phone.',
        zh: '已扫付款人的付款码，等待付款人在手机上确认。',
      },
      next: {
        en: 'the channel is queried for the payment; at the expiry the payment is cancelled',
        zh: '向渠道查单；到期仍未支付则撤销',
      },
    };
  return {
    code: 'waiting_for_payer',
    reason: {
      en: 'The order was created at the channel and is waiting for the payer.',
      zh: '订单已在渠道创建，等待付款人付款。',
    },
    next: { en: 'the channel is queried for the payment', zh: '向渠道查单' },
  };
}

const REPEAT: Words = {
  en: 'repeat the pay request with the same Idempotency-Key or merchantOrderNo',
  zh: '用相同的 Idempotency-Key 或 merchantOrderNo 重新发送下单请求',
};

function unplaced({ placeTries }: OrderRow): Situation {
  return {
    code: 'place_unknown',
    reason: {
      en: `The create request was sent ${placeTries === 1 ? 'once' : `${placeTries} times`}, and no response gave the payer a way to pay. The payer cannot pay until the merchant retries the request.`,
      zh: `下单请求已发送 ${placeTries} 次，但没有收到可供付款的响应。商户重试请求之前，付款人无法付款。`,
    },
    next: { en: 'the channel is queried for the order', zh: '向渠道查单' },
    fix: REPEAT,
    forMerchants: { fix: REPEAT },
  };
}

const CLOSED_BY: Readonly<Record<CloseReason, string>> = {
  merchant: '商户关闭',
  admin: '管理员关闭',
  expired: '过期',
  channel: '渠道关闭',
  payer: '付款人改选其他渠道',
};

function closing(scene: Scene): Situation {
  const { order, now } = scene;
  if (order.reverseDoubtAt !== null)
    return {
      code: 'closing_unanswered',
      reason: {
        en: "A close of the in-store order (payer's code) was sent, and its response is pending or was lost. The close returns a payment to the payer, so a payment that is reported before the response does not count.",
        zh: '付款码订单的撤销请求已发出，尚未收到响应，或响应已丢失。撤销会把款项退还付款人，因此在得到响应之前上报的付款不计入。',
      },
      next: {
        en: 'the close is sent again until the channel answers; then the order is closed, and a payment is refunded',
        zh: '重复发送撤销请求，直到渠道答复；之后订单关闭，已付款项退还',
      },
    };
  if (CHANNELS[order.payWay].createsOnScan && order.scene !== 'code' && now < endOf(order)) {
    const { name } = CHANNELS[order.payWay];
    return {
      code: 'closing_unscanned',
      reason: {
        en: `A close was requested, but ${name.en} creates the trade only when the QR code is scanned, so the order cannot be closed yet. The payer can pay until the code expires.`,
        zh: `已请求关闭订单，但${name.zh}在付款人扫码后才创建交易，因此暂时无法关闭。二维码过期之前，付款人仍可付款。`,
      },
      next: {
        en: 'the close is retried; after the expiry, two "does not exist" responses one minute apart close the order',
        zh: '重试关闭；过期之后，渠道间隔一分钟两次答复“交易不存在”即关闭订单',
      },
    };
  }
  const later = ifPaidNow(scene);
  const reason = order.closeReason ?? 'merchant';
  return {
    code: 'closing',
    reason: {
      en: `A close was requested (${reason}); the channel has not confirmed it yet. ${later.en}`,
      zh: `已请求关闭订单（${CLOSED_BY[reason]}），渠道尚未确认。${later.zh}`,
    },
    next: { en: 'the close is retried', zh: '重试关闭' },
  };
}

function ended(scene: Scene): Situation {
  const { order } = scene;
  if (order.paid > 0n) return returned(scene);
  const next = { en: 'the channel is queried once more for a late payment', zh: '再次向渠道查询是否有逾期付款' };
  const refusal = withoutStop([order.failureCode, order.failureMessage].filter(Boolean).join(' '));
  const later = ifPaidNow(scene);
  if (order.state === 'failed')
    return {
      code: 'refused',
      reason: {
        en: `The channel refused the order: ${refusal}. ${later.en}`,
        zh: `渠道拒绝了该订单：${refusal}。${later.zh}`,
      },
      next,
    };
  const why: Words = {
    merchant: { en: 'The merchant closed it.', zh: '订单由商户关闭。' },
    admin: { en: 'An administrator closed it.', zh: '订单由管理员关闭。' },
    payer: { en: 'The payer chose another channel.', zh: '付款人改选了其他渠道。' },
    expired: { en: 'The order expired without a payment.', zh: '订单过期，未收到付款。' },
    channel:
      refusal === ''
        ? { en: 'The channel closed it.', zh: '订单由渠道关闭。' }
        : { en: `The channel refused the payment for good: ${refusal}.`, zh: `渠道最终拒绝了付款：${refusal}。` },
  }[order.closeReason ?? 'channel'];
  return { code: 'closed', reason: { en: `${why.en} ${later.en}`, zh: `${why.zh}${later.zh}` }, next };
}

const REFUND_CONTINUES: Words = { en: 'the refund continues automatically', zh: '退款自动继续' };

function returned(scene: Scene): Situation {
  const { refunded, paid: came, closeReason } = scene.order;
  if (refunded >= came)
    return {
      code: 'late_refunded',
      reason: {
        en: 'The payment arrived after the order had ended and was refunded in full.',
        zh: '款项在订单结束之后到账，已全额退款。',
      },
    };
  const stuck = openOf(scene, 'refund_abnormal') ?? openOf(scene, 'refund_reversed');
  if (stuck)
    return {
      code: 'late_refund_stuck',
      reason: {
        en: 'The payment arrived after the order had ended, and its refund needs manual review.',
        zh: '款项在订单结束之后到账，其退款需要人工处理。',
      },
      fix: either(`payctl refund retry ${stuck.refundNo}`, `payctl refund resolve ${stuck.refundNo}`),
    };
  const ending = closeReason === null ? '下单失败' : CLOSED_BY[closeReason];
  return {
    code: 'late_refunding',
    reason: {
      en: `The payment arrived after the order had ended (${closeReason ?? 'failed'}); the late-payment policy of the application refunds it.`,
      zh: `款项在订单结束（${ending}）之后到账；按应用的逾期付款策略退款。`,
    },
    next: REFUND_CONTINUES,
  };
}

function paid(scene: Scene): Situation {
  const { order } = scene;
  const late = openOf(scene, 'late_paid');
  if (late)
    return {
      code: 'late_accepted',
      reason: {
        en: 'The payment arrived after the order had ended; the late-payment policy of the application accepts it.',
        zh: '款项在订单结束之后到账；按应用的逾期付款策略予以接受。',
      },
      fix: `payctl exception resolve ${late.id} --action acknowledge --reason …`,
      forMerchants: { fix: null },
    };
  const dispute = openOf(scene, 'dispute');
  if (dispute) return disputed(dispute);
  if (order.refunded >= order.paid)
    return { code: 'refunded', reason: { en: 'The order was refunded in full.', zh: '订单已全额退款。' } };
  if (order.refunding > 0n)
    return {
      code: 'refunding',
      reason: { en: 'The order is paid; a refund is in progress.', zh: '订单已支付，有退款正在处理。' },
      next: REFUND_CONTINUES,
    };
  if (order.refunded > 0n)
    return {
      code: 'partially_refunded',
      reason: { en: 'The order is paid and partially refunded.', zh: '订单已支付，部分款项已退。' },
    };
  return { code: 'paid', reason: { en: 'The channel confirmed the payment.', zh: '渠道已确认付款成功。' } };
}

function disputed({ dedupe, detail, blocksRefunds }: OrderExceptionRow): Situation {
  if (blocksRefunds)
    return {
      code: 'disputed',
      reason: {
        en: 'The dispute was accepted; refunds are blocked until the channel has decided.',
        zh: '已接受争议；渠道裁决之前不能退款。',
      },
      fix: `payctl dispute get ${dedupe}`,
    };
  const waits = detail?.['state'] === 'needs_answer';
  const due = typeof detail?.['dueAt'] === 'string' ? detail['dueAt'] : undefined;
  return {
    code: 'disputed',
    reason: waits
      ? {
          en: `The payer disputes the payment, and the channel waits for an answer${due === undefined ? '' : ` until ${due}`}.`,
          zh: `付款人对该笔支付提出争议，渠道等待商户答复${due === undefined ? '' : `，截止时间 ${due}`}。`,
        }
      : {
          en: 'The payer disputes the payment; the channel has not decided yet.',
          zh: '付款人对该笔支付提出争议，渠道尚未裁决。',
        },
    fix: waits
      ? either(`payctl dispute answer ${dedupe} --text …`, `payctl dispute accept ${dedupe}`)
      : `payctl dispute get ${dedupe}`,
  };
}

/** `decideOrder`, which also decides about real payments, says what happens to a payment that arrives now. */
function ifPaidNow({ order, sibling, now }: Scene): Words {
  const amount = { minor: order.amount, currency: order.currency };
  const outcome = { kind: 'paid', channelNo: order.channelTradeNo ?? 'now', amount, at: now } as const;
  const change = decideOrder(order, { sibling, readmitted: true }, { outcome, cause: 'explain' }, now);
  return change.open
    ? { en: 'A payment that arrives now would be refunded.', zh: '此时到账的款项将被退回。' }
    : { en: 'A payment that arrives now would be accepted.', zh: '此时到账的款项将被接受。' };
}

/** Two commands of which the operator runs one. */
export function either(one: string, other: string): Words {
  return { en: `${one}, or ${other}`, zh: `${one}，或 ${other}` };
}

function openOf({ exceptions }: Scene, kind: string): OrderExceptionRow | undefined {
  return exceptions.find((one) => one.kind === kind && one.state === 'open');
}

function money(minor: bigint, currency: string): string {
  return `${majorText({ minor, currency })} ${currency}`;
}

function received({ receivedMinor, receivedCurrency }: OrderExceptionRow, order: OrderRow): string {
  return money(receivedMinor ?? 0n, receivedCurrency ?? order.currency);
}

/** Another's text, without the full stop at its end: the sentence that quotes it has its own. */
export function withoutStop(text: string): string {
  return text.trimEnd().replace(/[.。．]+$/, '');
}
