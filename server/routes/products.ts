import { z } from 'zod';
import type { Products, ShownProduct } from '../catalog/products.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { PayWay } from '../payments/channel.ts';
import { majorNumber } from '../money.ts';
import { ByCode, InProject, placeOf } from './schemas/audience.ts';
import { CHANGE_PRODUCT_ERRORS, CREATE_PRODUCT_ERRORS, DELETE_PRODUCT_ERRORS } from './schemas/errors.ts';
import {
  Amount,
  Code,
  Flag,
  HttpUrl,
  Instant,
  JsonValue,
  SafeText,
  Timestamp,
  UuidPaging,
  page,
} from './schemas/fields.ts';
import { Toggle, actorOf } from './schemas/identity.ts';
import { PayWayName } from './schemas/orders.ts';

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
  price: Amount.describe('Price in major units.'),
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
    .describe('For skills: price of a call in coins. It applies if the payer (`userId`) has enough coins.'),
  resource: Resource.nullable().optional(),
  offerTtlSeconds: z.int().min(60).max(86_400).nullable().optional(),
  refundAfterFulfilment: z
    .boolean()
    .optional()
    .describe(
      'For skills; default false. `true` lets the calling application refund delivered calls, any number of times: it keeps the content and gets the money or coins back.',
    ),
};

const NewProduct = z.object({ code: Code, kind: Kind, ...required, ...optional }).meta({ id: 'NewProduct' });

/** Absent fields stay unchanged; `null` removes the value of a field. */
const ProductChange = z
  .object({ ...required, ...optional })
  .partial()
  .meta({ id: 'ProductChange' });

const ProductsQuery = z.object({
  ...UuidPaging,
  ...InProject.shape,
  kind: Kind.optional(),
  enabled: Flag.optional(),
});

const Product = z
  .object({
    code: Code,
    project: z.string(),
    version: z.int(),
    name: z.string(),
    description: z.string().nullable(),
    kind: Kind,
    enabled: z.boolean(),
    price: z.number().describe('Price in major units.'),
    priceMinor: z.int().describe('Price in minor units.'),
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
      .describe(
        'Reason why the service never calls the URL of the handler, so that payers would pay and be refunded; null = it calls the URL.',
      ),
    offerTtlSeconds: z.int().nullable(),
    refundAfterFulfilment: z.boolean(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Product' });

function presentProduct(row: ShownProduct): z.input<typeof Product> {
  const { code, project, version, name, kind, enabled, currency, priceMinor, refundAfterFulfilment } = row;
  const payWays = row.payWays as PayWay[];
  const price = majorNumber({ minor: priceMinor, currency });
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

/** Routes for administrators: list, create, change and delete products. */
export function productRoutes({ products }: { products: Products }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/products:
   *   get:
   *     tags: [Products]
   *     operationId: listProducts
   *     summary: List products
   */
  router.get(
    '/api/v1/products',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'query' }, query: ProductsQuery, returns: Product, list: true },
      async ({ query }) => page(await products.list(query), query.limit, placeOf, presentProduct),
    ),
  );

  /**
   * @openapi
   * /api/v1/products:
   *   post:
   *     tags: [Products]
   *     operationId: createProduct
   *     summary: Create a product
   *     description: Every channel of `payWays` must support the currency. A coin package requires `coin`, a skill requires `resource`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: coins-100, name: 100 coins, kind: coin_package, price: 9.9, currency: CNY, payWays: [alipay, wechat], coin: { code: gold, amount: 100, bonus: 10 } }
   */
  router.post(
    '/api/v1/products',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        query: InProject,
        body: NewProduct,
        returns: Product,
        status: 201,
        errors: CREATE_PRODUCT_ERRORS,
      },
      async ({ query, body: { code, kind, ...settings }, caller, request }) => {
        const key = { ...query, code };
        const product = { ...nothing, ...settings };
        return presentProduct(await products.create(actorOf(caller, request), key, kind, product));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}:
   *   get:
   *     tags: [Products]
   *     operationId: getProduct
   *     summary: Get a product
   */
  router.get(
    '/api/v1/products/:code',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'query' }, params: ByCode, query: InProject, returns: Product },
      async ({ params, query }) => presentProduct(await products.get({ ...query, ...params })),
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}:
   *   put:
   *     tags: [Products]
   *     operationId: updateProduct
   *     summary: Update a product
   *     description: >-
   *       Omitted fields keep their values, null clears them. A change of price or currency creates a new version; existing orders keep
   *       the version with which they were created.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { price: 8.8, stock: 100 }
   */
  router.put(
    '/api/v1/products/:code',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByCode,
        query: InProject,
        body: ProductChange,
        returns: Product,
        errors: CHANGE_PRODUCT_ERRORS,
      },
      async ({ params, query, body, caller, request }) =>
        presentProduct(await products.update(actorOf(caller, request), { ...query, ...params }, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}/toggle:
   *   put:
   *     tags: [Products]
   *     operationId: toggleProduct
   *     summary: Enable or disable a product
   *     description: Without a body, the current state is inverted. A disabled product is not on sale; paid orders are still delivered.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/products/:code/toggle',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByCode,
        query: InProject,
        body: Toggle,
        returns: Product,
      },
      async ({ params, query, body, caller, request }) =>
        presentProduct(await products.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}:
   *   delete:
   *     tags: [Products]
   *     operationId: deleteProduct
   *     summary: Delete a product
   *     description: A product with orders cannot be deleted; disable it instead.
   */
  router.delete(
    '/api/v1/products/:code',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByCode,
        query: InProject,
        status: 204,
        errors: DELETE_PRODUCT_ERRORS,
      },
      ({ params, query, caller, request }) => products.remove(actorOf(caller, request), { ...query, ...params }),
    ),
  );
  return router;
}

/** The stored values of the optional fields that a request for a new product omits. */
const nothing = {
  description: null,
  stock: null,
  perUserLimit: null,
  saleFrom: null,
  saleTo: null,
  orderType: null,
  coin: null,
  coinPrice: null,
  resource: null,
  offerTtlSeconds: null,
  refundAfterFulfilment: false,
};
