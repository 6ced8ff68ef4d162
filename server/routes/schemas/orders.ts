import { z } from 'zod';
import { CLOSE_REASONS, EXCEPTION_KINDS, ORDER_STATUSES, REFUND_STATUSES } from '../../domain.ts';
import { PAY_HINTS, PAY_WAYS, SCENES } from '../../payments/channel.ts';
import { Amount, Code, HttpUrl, Id, SafeText, Timestamp, UserId } from './fields.ts';

/** Text of letters, digits, `_` and `-` only, so that no channel's message format (XML, JSON, form) changes it. */
const Word = (max: number) =>
  z.string().regex(new RegExp(`^[A-Za-z0-9_-]{1,${max}}$`), `must be 1 to ${max} letters, digits, "_" or "-"`);

const Goods = z
  .object({
    id: Word(32),
    name: SafeText(1, 128),
    quantity: z.int().min(1).max(9999),
    price: z.int().min(0).max(10_000_000_000).describe('Price of one piece in minor units (fen).'),
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
      .describe('PID of the service provider that receives the commission.'),
    passbackParams: SafeText(1, 512).optional().describe('Text that Alipay returns in its notifications.'),
    enablePayChannels: PayChannels.optional().describe(
      'Payment methods that Alipay offers to the payer; all others are hidden.',
    ),
    disablePayChannels: PayChannels.optional().describe('Payment methods that Alipay does not offer to the payer.'),
    goods: z.array(Goods).min(1).max(50).optional(),
  })
  .refine(({ enablePayChannels, disablePayChannels }) => !enablePayChannels || !disablePayChannels, {
    message: 'cannot be combined with enablePayChannels',
    path: ['disablePayChannels'],
  })
  .meta({ id: 'AlipayOptions' });

const Wechat = z
  .object({
    attach: SafeText(1, 127).optional().describe('Text that WeChat Pay returns in query responses and notifications.'),
    goodsTag: SafeText(1, 32).optional().describe('Tag of a WeChat Pay promotion.'),
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
    immediatePayment: z.boolean().optional().describe('Rejects payment methods whose money arrives later.'),
    softDescriptor: z
      .string()
      .regex(/^[A-Za-z0-9.* -]{1,22}$/, 'must be 1 to 22 letters, digits, blanks, ".", "*" or "-"')
      .optional()
      .describe("Text on the payer's card statement."),
  })
  .meta({ id: 'PaypalOptions' });

const ChannelOptions = z
  .object({ alipay: Alipay.optional(), wechat: Wechat.optional(), paypal: Paypal.optional() })
  .describe('Additional options for the channel. Only the options of the channel in `payWay` are used.')
  .meta({ id: 'ChannelOptions' });

export const PayWayName = z.enum(PAY_WAYS);
const Status = z.enum(ORDER_STATUSES);
const ModeName = z.enum(['simulator', 'sandbox', 'live']);
const Failure = z.object({ code: z.string(), message: z.string() }).nullable();
const Settled = z.object({ amount: z.number(), amountMinor: z.int(), currency: z.string() }).nullable();

export const PlacePaymentRequest = z
  .object({
    subject: SafeText(1, 127).describe('Title of the order, which the payer sees.'),
    amount: Amount.optional().describe('Amount in major units. It may be omitted if `product` sets the price.'),
    payWay: PayWayName,
    orderType: SafeText(1, 64).optional().describe('Business category, chosen by the caller.'),
    userId: UserId.optional().describe("ID of the paying user in the merchant's system."),
    extra: z
      .string()
      .refine((text) => Buffer.byteLength(text) <= 4096, 'must have at most 4096 bytes')
      .optional()
      .describe("The caller's own text, returned unchanged."),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code')
      .optional(),
    merchantOrderNo: Id.optional().describe(
      "The caller's own order number. A request with the same number and the same values returns the same order.",
    ),
    scene: z
      .enum(SCENES)
      .optional()
      .describe(
        'How the payment is presented to the payer. `code`: the shop scanned the code (`payCode`) of the payer.',
      ),
    openId: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,128}$/)
      .optional(),
    appId: z
      .string()
      .regex(/^[A-Za-z0-9_-]{6,32}$/)
      .optional()
      .describe(
        'For WeChat Pay: one of the configured app IDs; by default that of the scene. `openId` must belong to this app ID.',
      ),
    payCode: z
      .string()
      .regex(/^\d{16,24}$/, 'must be 16 to 24 digits')
      .optional()
      .describe(
        'For the scene `code`: the code that the payer shows in the app of the channel. It works once, for about a minute.',
      ),
    channelOptions: ChannelOptions.optional(),
    clientIp: z
      .union([z.ipv4(), z.ipv6()])
      .optional()
      .describe(
        'IP address of the payer; for the scene `code`, of the cash register. WeChat Pay requires it for the scenes `h5` and `code`.',
      ),
    returnUrl: HttpUrl.optional(),
    notifyUrl: HttpUrl.optional().describe('Overrides the webhook URL of the application for this order.'),
    expireSeconds: z.int().min(60).max(604_800).optional(),
    product: Code.optional(),
  })
  .meta({ id: 'PlacePaymentRequest' });

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
      .describe('`waiting_for_approval`: the amount is reserved, and a second administrator must approve the refund.'),
    elsewhere: z
      .boolean()
      .describe(
        "True if the channel did not pay this refund to the payer on request of this service. Possible reasons: it was made in the channel's portal, the payer won a dispute, it was paid outside the channel, or the channel paid it to the merchant's own account.",
      ),
    failure: Failure,
    channelRefundNo: z.string().nullable(),
    fee: Settled.describe(
      'Fee of the refund according to the bill; negative if the channel returned a fee. null until the refund has succeeded and its bill has been read.',
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
    amount: z.number().describe('Amount in major units.'),
    amountMinor: z.int().describe('Amount in minor units.'),
    currency: z.string(),
    status: Status,
    exception: z
      .enum(EXCEPTION_KINDS)
      .nullable()
      .describe('Kind of the latest open exception (a case that an operator must review); null = none.'),
    closeReason: z.enum(CLOSE_REASONS).nullable(),
    failure: Failure,
    payer: z.string().nullable(),
    product: z.string().nullable(),
    refundedAmount: z.number(),
    ...Refundable,
    channelOrderId: z.string().nullable().describe("PayPal's order number; null for other channels."),
    channelTradeNo: z.string().nullable(),
    captureReason: z
      .string()
      .nullable()
      .describe(
        "PayPal's code for the reason why an approved payment has not been received yet, or why the payer must choose another payment method; null = none.",
      ),
    settlement: z
      .object({ fee: Settled, net: Settled, received: Settled })
      .nullable()
      .describe(
        'Fee of the channel, and the net amount. PayPal reports them with the payment; for other channels they come from the bill a day later. null until known.',
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
      .describe('Data that the payer needs for the payment. Present only while the order can be paid.'),
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

export const OrderEntry = Order.omit({ refunds: true, payment: true, payUrl: true }).meta({ id: 'OrderEntry' });

export const RefundRequest = z
  .object({
    orderNo: Id,
    refundAmount: Amount.describe('Amount in major units, at most the refundable amount.'),
    merchantRefundNo: Id.optional(),
    reason: SafeText(1, 80).optional(),
  })
  .meta({ id: 'RefundRequest' });

export const RefundPlaced = Refund.extend({
  refundedAmount: z.number(),
  ...Refundable,
}).meta({ id: 'RefundPlaced' });
