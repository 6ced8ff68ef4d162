import { z } from 'zod';
import { SafeText } from './fields.ts';

/** Printable ASCII without what would have to be escaped in a channel's own forms. */
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

/** What a merchant may ask of the channels beyond the order itself; those of other channels than the order's are ignored. */
export const ChannelOptions = z
  .object({ alipay: Alipay.optional(), wechat: Wechat.optional(), paypal: Paypal.optional() })
  .describe('What is passed on to the channel beyond the order itself, by channel; only that of `payWay` is used.')
  .meta({ id: 'ChannelOptions' });
