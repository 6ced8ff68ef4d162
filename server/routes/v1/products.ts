import { z } from 'zod';
import type { Products } from '../../catalog/products.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { page } from '../wire/page.ts';
import { NewProduct, presentProduct, Product, ProductChange, ProductsQuery } from '../wire/products.ts';
import { ByCode, InProject, placeOf } from '../wire/projects.ts';

const Where = z.object(InProject);

/** Products, under the console. */
export function productRoutes({ products }: { products: Products }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/products:
   *   get:
   *     tags: [Products]
   *     summary: List products
   */
  router.get(
    '/api/v1/products',
    endpoint({ auth: { admin: 'viewer' }, query: ProductsQuery, returns: Product, list: true }, async ({ query }) =>
      page(await products.list(query), query.limit, placeOf, presentProduct),
    ),
  );

  /**
   * @openapi
   * /api/v1/products:
   *   post:
   *     tags: [Products]
   *     summary: Create a product
   *     description: Every channel of `payWays` must take the currency. A coin package needs `coin`, a skill needs `resource`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: coins-100, name: 100 coins, kind: coin_package, price: 9.9, currency: CNY, payWays: [alipay, wechat], coin: { code: gold, amount: 100, bonus: 10 } }
   */
  router.post(
    '/api/v1/products',
    endpoint(
      {
        auth: { admin: 'admin' },
        query: Where,
        body: NewProduct,
        returns: Product,
        status: 201,
        errors: ['amount_invalid', 'code_taken'],
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
   *     summary: Show a product
   */
  router.get(
    '/api/v1/products/:code',
    endpoint({ auth: { admin: 'viewer' }, params: ByCode, query: Where, returns: Product }, async ({ params, query }) =>
      presentProduct(await products.get({ ...query, ...params })),
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}:
   *   put:
   *     tags: [Products]
   *     summary: Change a product
   *     description: What is left out stays, null clears. A change of price or currency makes a version; orders keep what they bought.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { price: 8.8, stock: 100 }
   */
  router.put(
    '/api/v1/products/:code',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByCode,
        query: Where,
        body: ProductChange,
        returns: Product,
        errors: ['amount_invalid'],
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
   *     summary: Enable or disable a product
   *     description: Without a body it flips. Disabled, it is not on sale; what was paid for is delivered.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/products/:code/toggle',
    endpoint(
      { auth: { admin: 'admin' }, params: ByCode, query: Where, body: Toggle, returns: Product },
      async ({ params, query, body, caller, request }) =>
        presentProduct(await products.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/products/{code}:
   *   delete:
   *     tags: [Products]
   *     summary: Delete a product
   *     description: One that has orders cannot be deleted; disable it.
   */
  router.delete(
    '/api/v1/products/:code',
    endpoint(
      { auth: { admin: 'admin' }, params: ByCode, query: Where, status: 204, errors: ['in_use'] },
      ({ params, query, caller, request }) => products.remove(actorOf(caller, request), { ...query, ...params }),
    ),
  );
  return router;
}

/** What a new product is without saying so. */
const nothing = {
  description: null,
  stock: null,
  perUserLimit: null,
  saleFrom: null,
  saleTo: null,
  orderType: null,
  coin: null,
  resource: null,
  offerTtlSeconds: null,
  refundAfterFulfilment: true,
};
