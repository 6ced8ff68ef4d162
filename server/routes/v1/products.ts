import type { Products } from '../../catalog/products.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { CHANGE_PRODUCT_ERRORS, CREATE_PRODUCT_ERRORS, DELETE_PRODUCT_ERRORS } from '../wire/errors.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { page } from '../wire/page.ts';
import { NewProduct, presentProduct, Product, ProductChange, ProductsQuery } from '../wire/products.ts';
import { ByCode, InProject, placeOf } from '../wire/projects.ts';

/** Products, under the console. */
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
      { auth: { admin: 'viewer', reach: 'query' }, query: ProductsQuery, returns: Product, list: true },
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
        auth: { admin: 'admin', reach: 'query' },
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
      { auth: { admin: 'viewer', reach: 'query' }, params: ByCode, query: InProject, returns: Product },
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
   *     description: Omitted fields keep their values, null clears them. A change of price or currency creates a new version; existing orders keep theirs.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { price: 8.8, stock: 100 }
   */
  router.put(
    '/api/v1/products/:code',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'query' },
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
   *     description: Without a body the state is toggled. A disabled product is not on sale; paid orders are still delivered.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/products/:code/toggle',
    endpoint(
      { auth: { admin: 'admin', reach: 'query' }, params: ByCode, query: InProject, body: Toggle, returns: Product },
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
        auth: { admin: 'admin', reach: 'query' },
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

/** What a new product is without saying so. */
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
