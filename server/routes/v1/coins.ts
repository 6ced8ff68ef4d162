import type { Coins } from '../../catalog/coins.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { Coin, CoinChange, CoinsQuery, NewCoin, presentCoin } from '../wire/coins.ts';
import { CREATE_COIN_ERRORS, DELETE_COIN_ERRORS } from '../wire/errors.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { page } from '../wire/page.ts';
import { ByCode, InProject, placeOf } from '../wire/projects.ts';

/** Coins, under the console. */
export function coinRoutes({ coins }: { coins: Coins }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/coins:
   *   get:
   *     tags: [Coins]
   *     operationId: listCoins
   *     summary: List coins
   */
  router.get(
    '/api/v1/coins',
    endpoint(
      { auth: { admin: 'viewer', reach: 'query' }, query: CoinsQuery, returns: Coin, list: true },
      async ({ query }) => page(await coins.list(query), query.limit, placeOf, presentCoin),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins:
   *   post:
   *     tags: [Coins]
   *     operationId: createCoin
   *     summary: Create a coin
   *     description: The clawback rule (refuse, debt or partial) decides what a refund does if the coins of the package are already spent.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: gold, name: Gold coin, clawback: refuse }
   */
  router.post(
    '/api/v1/coins',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'query' },
        query: InProject,
        body: NewCoin,
        returns: Coin,
        status: 201,
        errors: CREATE_COIN_ERRORS,
      },
      async ({ query, body: { code, ...settings }, caller, request }) =>
        presentCoin(await coins.create(actorOf(caller, request), { ...query, code }, settings)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   get:
   *     tags: [Coins]
   *     operationId: getCoin
   *     summary: Get a coin
   */
  router.get(
    '/api/v1/coins/:code',
    endpoint(
      { auth: { admin: 'viewer', reach: 'query' }, params: ByCode, query: InProject, returns: Coin },
      async ({ params, query }) => presentCoin(await coins.get({ ...query, ...params })),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   put:
   *     tags: [Coins]
   *     operationId: updateCoin
   *     summary: Update a coin
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { clawback: debt }
   */
  router.put(
    '/api/v1/coins/:code',
    endpoint(
      { auth: { admin: 'admin', reach: 'query' }, params: ByCode, query: InProject, body: CoinChange, returns: Coin },
      async ({ params, query, body, caller, request }) =>
        presentCoin(await coins.update(actorOf(caller, request), { ...query, ...params }, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/toggle:
   *   put:
   *     tags: [Coins]
   *     operationId: toggleCoin
   *     summary: Enable or disable a coin
   *     description: Without a body the state is toggled. A disabled coin can be neither sold nor spent; paid packages are still credited.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/coins/:code/toggle',
    endpoint(
      { auth: { admin: 'admin', reach: 'query' }, params: ByCode, query: InProject, body: Toggle, returns: Coin },
      async ({ params, query, body, caller, request }) =>
        presentCoin(await coins.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   delete:
   *     tags: [Coins]
   *     operationId: deleteCoin
   *     summary: Delete a coin
   *     description: A coin that is used by a product or has ledger entries cannot be deleted; disable it instead.
   */
  router.delete(
    '/api/v1/coins/:code',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'query' },
        params: ByCode,
        query: InProject,
        status: 204,
        errors: DELETE_COIN_ERRORS,
      },
      ({ params, query, caller, request }) => coins.remove(actorOf(caller, request), { ...query, ...params }),
    ),
  );
  return router;
}
