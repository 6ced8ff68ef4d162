import { z } from 'zod';
import { refused } from './reply.ts';

const Text = (max: number) => z.string().min(1).max(max).optional();
const Channels = z
  .string()
  .regex(/^\w+(,\w+)*$/)
  .max(128)
  .optional();

/** In yuan; clients write it as text or as a number (smartwalle/alipay, GoodsDetail). */
const Price = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d{1,9}(\.\d{1,2})?$/));

/** Members of a create beyond the order itself (references of alipay.trade.precreate, create, pay, page.pay, wap.pay and app.pay). */
const Options = z
  .object({
    store_id: Text(32),
    operator_id: Text(28),
    terminal_id: Text(32),
    passback_params: Text(512),
    enable_pay_channels: Channels,
    disable_pay_channels: Channels,
    extend_params: z
      .object({
        sys_service_provider_id: z
          .string()
          .regex(/^2088\d{12}$/)
          .optional(),
      })
      .optional(),
    goods_detail: z
      .array(
        z.object({
          goods_id: z.string().min(1).max(64),
          goods_name: z.string().min(1).max(256),
          quantity: z.int().min(1),
          price: Price,
        }),
      )
      .min(1)
      .optional(),
  })
  .refine((options) => !options.enable_pay_channels || !options.disable_pay_channels);

/** Reads them as the gateway would; throws the refusal. Which ways to pay exclude each other is Alipay's own rule. */
export function readOptions(content: Readonly<Record<string, unknown>>): z.output<typeof Options> {
  const options = Options.safeParse(content);
  if (options.success) return options.data;
  throw refused('INVALID_PARAMETER', `${options.error.issues[0]?.path.join('.') || 'enable_pay_channels'} is invalid.`);
}
