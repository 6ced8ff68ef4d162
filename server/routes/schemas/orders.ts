import { z } from 'zod';
import { CLOSE_REASONS, EXCEPTION_KINDS, ORDER_STATUSES, REFUND_STATUSES } from '../../domain.ts';
import { PAY_HINTS, PAY_WAYS, SCENES } from '../../payments/channel.ts';
import { Amount, Code, HttpUrl, Id, SafeText, Timestamp, UserId } from './fields.ts';

/** Text of letters and digits that no channel's format has to escape. */
const Word = (max: number) =>
  z.string().regex(new RegExp(`^[A-Za-z0-9_-]{1,${max}}$`), `must be 1 to ${max} letters, digits, "_" or "-"`);

const Goods = z
  .object({
    id: Word(32),
    name: SafeText(1, 128),
    quantity: z.int().min(1).max(9999),
    price: z.int().min(0).max(10_000_000_000).describe('Minor units (fen), for one piece.'),
  })
  .meta({ id: 'Goods' });

const PayChannels = z
  .array(z.string().regex(/^[A-Za-z_]{1,32}$/, 'must be the name of a way to pay'))
  .min(1)
  .max(20);

const Alipay = z
  .object({
    storeId: Word(32).optional(),
    operatorId: Word(28).optional(),
    terminalId: Word(32).optional(),
    sysServiceProviderId: z
      .string()
      .regex(/^2088\d{12}$/, 'must be a PID (2088 and 12 digits)')
      .optional()
      .describe('PID of the service provider who gets the commission.'),
    passbackParams: SafeText(1, 512).optional().describe('Returned in the notifications of Alipay.'),
    enablePayChannels: PayChannels.optional().describe('Only these ways to pay are offered.'),
    disablePayChannels: PayChannels.optional().describe('These ways to pay are not offered.'),
    goods: z.array(Goods).min(1).max(50).optional(),
  })
  .refine(({ enablePayChannels, disablePayChannels }) => !enablePayChannels || !disablePayChannels, {
    message: 'cannot be combined with enablePayChannels',
    path: ['disablePayChannels'],
  })
  .meta({ id: 'AlipayOptions' });

const Wechat = z
  .object({
    attach: SafeText(1, 127).optional().describe('Returned in queries and notifications of WeChat Pay.'),
    goodsTag: SafeText(1, 32).optional().describe('Mark of a promotion.'),
    supportFapiao: z.boolean().optional().describe('Offers the payer an electronic invoice.'),
    profitSharing: z
      .boolean()
      .optional()
      .describe('`true` is refused: the money would stay frozen, because this service neither shares nor releases it.'),
    storeId: Word(32).optional(),
    deviceId: Word(32).optional(),
    goods: z.array(Goods).min(1).max(50).optional(),
  })
  .meta({ id: 'WechatOptions' });

const Paypal = z
  .object({
    brandName: SafeText(1, 127).optional().describe('Shown to the payer instead of the business name.'),
    locale: z
      .string()
      .regex(/^[a-z]{2}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?$/, 'must be a locale such as en-GB')
      .optional()
      .describe("Language of PayPal's pages."),
    landingPage: z.enum(['LOGIN', 'GUEST_CHECKOUT', 'NO_PREFERENCE']).optional(),
    immediatePayment: z.boolean().optional().describe('Refuses ways to pay whose money arrives later.'),
    softDescriptor: z
      .string()
      .regex(/^[A-Za-z0-9.* -]{1,22}$/, 'must be 1 to 22 letters, digits, blanks, ".", "*" or "-"')
      .optional()
      .describe("Text on the payer's card statement."),
  })
  .meta({ id: 'PaypalOptions' });

/** Options of a merchant for the channels; only those of the order's channel are used. */
const ChannelOptions = z
  .object({ alipay: Alipay.optional(), wechat: Wechat.optional(), paypal: Paypal.optional() })
  .describe('What is passed on to the channel beyond the order itself, by channel; only that of `payWay` is used.')
  .meta({ id: 'ChannelOptions' });

/** A channel by its wire name. */
export const PayWayName = z.enum(PAY_WAYS);
const Status = z.enum(ORDER_STATUSES);
const ModeName = z.enum(['simulator', 'sandbox', 'live']);
const Failure = z.object({ code: z.string(), message: z.string() }).nullable();
const Settled = z.object({ amount: z.number(), amountMinor: z.int(), currency: z.string() }).nullable();

/** The body of a pay request (specification: place-payment request). */
export const PlacePaymentRequest = z
  .object({
    subject: SafeText(1, 127).describe('Order title.'),
    amount: Amount.optional().describe('Major units; may be omitted if `product` has the price.'),
    payWay: PayWayName,
    orderType: SafeText(1, 64).optional().describe('Business category.'),
    userId: UserId.optional().describe("The paying user in the caller's system."),
    extra: z
      .string()
      .refine((text) => Buffer.byteLength(text) <= 4096, 'must have at most 4096 bytes')
      .optional()
      .describe('Custom text, returned unchanged.'),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code')
      .optional(),
    merchantOrderNo: Id.optional().describe(
      "The caller's own order number; the same number with the same values is the same order.",
    ),
    scene: z
      .enum(SCENES)
      .optional()
      .describe('How the payment is presented to the payer; `code`: a shop scanned `payCode`.'),
    openId: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,128}$/)
      .optional(),
    appId: z
      .string()
      .regex(/^[A-Za-z0-9_-]{6,32}$/)
      .optional()
      .describe('WeChat Pay: one of the configured app IDs, if not the default of the scene. `openId` belongs to it.'),
    payCode: z
      .string()
      .regex(/^\d{16,24}$/, 'must be 16 to 24 digits')
      .optional()
      .describe(
        'The code that the payer shows in the app of the channel, for the scene `code`. It works once, for about a minute.',
      ),
    channelOptions: ChannelOptions.optional(),
    clientIp: z
      .union([z.ipv4(), z.ipv6()])
      .optional()
      .describe('IP address of the payer; for the scene `code`, of the till. WeChat Pay requires it in h5 and code.'),
    returnUrl: HttpUrl.optional(),
    notifyUrl: HttpUrl.optional().describe('Overrides the webhook URL of the application for this order.'),
    expireSeconds: z.int().min(60).max(604_800).optional(),
    product: Code.optional(),
  })
  .meta({ id: 'PlacePaymentRequest' });

/** A refund on the wire. */
export const Refund = z
  .object({
    refundNo: z.string(),
    orderNo: z.string(),
    merchantRefundNo: z.string().nullable(),
    origin: z.string(),
    refundAmount: z.number(),
    refundAmountMinor: z.int(),
    currency: z.string(),
    reason: z.string().nullable(),
    status: z
      .enum(REFUND_STATUSES)
      .describe('`waiting_for_approval`: its amount is reserved, and a second administrator has to approve it.'),
    elsewhere: z
      .boolean()
      .describe(
        'True when the channel did not pay the payer for this service: the refund was made in its portal, was paid outside the channel, or went to the own account of the merchant.',
      ),
    failure: Failure,
    channelRefundNo: z.string().nullable(),
    fee: Settled.describe(
      'Fee of the refund by its bill; negative when the channel gave a fee back. null until the refund has succeeded and its bill has been read.',
    ),
    nextCheckAt: Timestamp.nullable(),
    createdAt: Timestamp,
    finishedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Refund' });

const Refundable = {
  refundableAmount: z.number(),
  refundsBlockedBy: z.enum(EXCEPTION_KINDS).nullable(),
};

/** An order on the wire. */
export const Order = z
  .object({
    orderNo: z.string(),
    kind: z.enum(['payment', 'skillpay']),
    merchantOrderNo: z.string().nullable(),
    project: z.string(),
    clientId: z.string(),
    mode: ModeName,
    subject: z.string(),
    orderType: z.string().nullable(),
    userId: z.string().nullable(),
    extra: z.string().nullable(),
    payWay: PayWayName,
    scene: z.string(),
    amount: z.number().describe('Major units.'),
    amountMinor: z.int().describe('Minor units.'),
    currency: z.string(),
    status: Status,
    exception: z.enum(EXCEPTION_KINDS).nullable().describe('Kind of the latest open exception.'),
    closeReason: z.enum(CLOSE_REASONS).nullable(),
    failure: Failure,
    payer: z.string().nullable(),
    product: z.string().nullable(),
    refundedAmount: z.number(),
    ...Refundable,
    channelOrderId: z.string().nullable().describe("The channel's own number of the order, where it has one (PayPal)."),
    channelTradeNo: z.string().nullable(),
    captureReason: z
      .string()
      .nullable()
      .describe(
        "The channel's word why an approved payment is not there yet, or why the payer has to choose another way to pay (PayPal).",
      ),
    settlement: z
      .object({ fee: Settled, net: Settled, received: Settled })
      .nullable()
      .describe(
        'What the channel keeps and what is left: as it said with the payment (PayPal), else by its bill a day later.',
      ),
    payment: z
      .object({
        type: z
          .enum(PAY_HINTS)
          .describe('`code`: the payer confirms in the app whose code was scanned; no payment data is needed.'),
        qrCode: z.string().optional(),
        url: z.string().optional(),
        params: z.record(z.string(), z.string()).optional(),
        expiresAt: Timestamp,
      })
      .optional()
      .describe('What the payer needs to pay, while the order can be paid.'),
    payUrl: z
      .string()
      .optional()
      .describe('URL to send the payer to; for QR scenes, the payment page of this service.'),
    refunds: z.array(Refund),
    createdAt: Timestamp,
    paidAt: Timestamp.nullable(),
    closedAt: Timestamp.nullable(),
    expiresAt: Timestamp,
    stale: z.boolean().describe('True if the channel could not be queried in time and the stored state is returned.'),
  })
  .meta({ id: 'Order' });

/** An order in a list or an event: without refunds and payment data. */
export const OrderEntry = Order.omit({ refunds: true, payment: true, payUrl: true }).meta({ id: 'OrderEntry' });

/** The body of a refund request. */
export const RefundRequest = z
  .object({
    orderNo: Id,
    refundAmount: Amount.describe('Major units, at most the refundable amount.'),
    merchantRefundNo: Id.optional(),
    reason: SafeText(1, 80).optional(),
  })
  .meta({ id: 'RefundRequest' });

/** The response to a refund request. */
export const RefundPlaced = Refund.extend({
  refundedAmount: z.number(),
  ...Refundable,
}).meta({ id: 'RefundPlaced' });
