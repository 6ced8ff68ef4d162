import { z } from 'zod';
import type { ShownProduct } from '../../catalog/products.ts';
import type { PayWay } from '../../payments/channel.ts';
import { majorNumber } from '../../payments/money.ts';
import { Amount, Code, Flag, HttpUrl, Instant, JsonValue, SafeText, Timestamp } from './fields.ts';
import { PayWayName } from './orders.ts';
import { InProject } from './projects.ts';
import { UuidPaging } from './uuid-cursor.ts';

const Kind = z.enum(['goods', 'coin_package', 'skill']);
const Coin = z.object({
  code: Code,
  amount: z.int().min(1).max(1_000_000_000_000),
  bonus: z.int().min(0).max(1_000_000_000_000).default(0),
});
const CoinPrice = z.object({
  code: Code,
  amount: z.int().min(1).max(1_000_000_000_000),
});
const Static = z.object({
  handler: z.literal('static'),
  content: JsonValue,
  contentType: z.string().max(128).optional(),
});
const Http = z.object({
  handler: z.literal('http'),
  url: HttpUrl,
  timeoutMs: z.int().min(100).max(60_000).optional(),
});
const Resource = z.discriminatedUnion('handler', [Static, Http]);

const required = {
  name: SafeText(1, 128),
  price: Amount.describe('Major units.'),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code'),
  payWays: z.array(PayWayName).min(1).max(3),
};
const optional = {
  description: SafeText(0, 2000).nullable().optional(),
  stock: z.int().min(0).max(2_000_000_000).nullable().optional(),
  perUserLimit: z.int().min(1).max(1_000_000).nullable().optional(),
  saleFrom: Instant.nullable().optional(),
  saleTo: Instant.nullable().optional(),
  orderType: SafeText(1, 64).nullable().optional(),
  coin: Coin.nullable().optional(),
  coinPrice: CoinPrice.nullable()
    .optional()
    .describe('For skills: what a call costs when its payer (`userId`) has the coins.'),
  resource: Resource.nullable().optional(),
  offerTtlSeconds: z.int().min(60).max(86_400).nullable().optional(),
  refundAfterFulfilment: z
    .boolean()
    .optional()
    .describe(
      'For skills, false if omitted. True lets the application that called refund what was delivered: it keeps the content and gets the money or coins back, as often as it likes.',
    ),
};

/** A new product. */
export const NewProduct = z.object({ code: Code, kind: Kind, ...required, ...optional }).meta({ id: 'NewProduct' });

/** A change of a product; what is left out stays, `null` clears. */
export const ProductChange = z
  .object({ ...required, ...optional })
  .partial()
  .meta({ id: 'ProductChange' });

/** Filters of the product list. */
export const ProductsQuery = z.object({
  ...UuidPaging,
  ...InProject.shape,
  kind: Kind.optional(),
  enabled: Flag.optional(),
});

/** A product in an answer. */
export const Product = z
  .object({
    code: Code,
    project: z.string(),
    version: z.int(),
    name: z.string(),
    description: z.string().nullable(),
    kind: Kind,
    enabled: z.boolean(),
    price: z.number().describe('Major units.'),
    priceMinor: z.int().describe('Minor units.'),
    currency: z.string(),
    payWays: z.array(PayWayName),
    stock: z.int().nullable(),
    perUserLimit: z.int().nullable(),
    saleFrom: Timestamp.nullable(),
    saleTo: Timestamp.nullable(),
    orderType: z.string().nullable(),
    coin: Coin.nullable(),
    coinPrice: CoinPrice.nullable(),
    resource: Resource.nullable(),
    handlerFault: z
      .enum(['https_required', 'address_refused', 'url_invalid'])
      .nullable()
      .describe('Why the URL of the handler will never be called; payers would pay and be refunded.'),
    offerTtlSeconds: z.int().nullable(),
    refundAfterFulfilment: z.boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Product' });

/** How a product is shown. */
export function presentProduct(row: ShownProduct): z.input<typeof Product> {
  const { code, project, version, name, kind, enabled, currency, priceMinor, refundAfterFulfilment } = row;
  const payWays = row.payWays as PayWay[];
  const price = majorNumber({ minor: priceMinor, currency }, payWays[0] ?? 'alipay');
  return {
    code,
    project,
    version,
    name,
    kind,
    enabled,
    currency,
    price,
    priceMinor: Number(priceMinor),
    payWays,
    description: row.description ?? null,
    stock: row.stock ?? null,
    perUserLimit: row.perUserLimit ?? null,
    saleFrom: row.saleFrom?.toISOString() ?? null,
    saleTo: row.saleTo?.toISOString() ?? null,
    orderType: row.orderType ?? null,
    coin: row.coin ?? null,
    coinPrice: row.coinPrice ?? null,
    resource: (row.resource as z.input<typeof Resource> | null) ?? null,
    handlerFault: row.handlerFault,
    offerTtlSeconds: row.offerTtlSeconds ?? null,
    refundAfterFulfilment,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
