import { z } from 'zod';
import type { Coins } from '../../catalog/coins.ts';
import type { Spend } from '../../catalog/spend.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import {
  AccountsQuery,
  Adjustment,
  Coin,
  CoinAccount,
  CoinChange,
  CoinEntry,
  CoinsQuery,
  EntriesQuery,
  NewCoin,
  presentAccount,
  presentCoin,
  presentEntry,
} from '../wire/coins.ts';
import { UserId } from '../wire/fields.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { page } from '../wire/page.ts';
import { ByCode, InProject, placeOf } from '../wire/projects.ts';

const Where = z.object(InProject);
const ByHolder = ByCode.extend({ userId: UserId });

/** Coins and their ledgers, under the console. */
export function coinRoutes({ coins }: { coins: Coins & Spend }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/coins:
   *   get:
   *     tags: [Coins]
   *     summary: List coins
   */
  router.get(
    '/api/v1/coins',
    endpoint({ auth: { admin: 'viewer' }, query: CoinsQuery, returns: Coin, list: true }, async ({ query }) =>
      page(await coins.list(query), query.limit, placeOf, presentCoin),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins:
   *   post:
   *     tags: [Coins]
   *     summary: Create a coin
   *     description: Its clawback rule decides about refunds of packages whose coins are spent, refuse, debt or partial.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: gold, name: Gold coin, clawback: refuse }
   */
  router.post(
    '/api/v1/coins',
    endpoint(
      { auth: { admin: 'admin' }, query: Where, body: NewCoin, returns: Coin, status: 201, errors: ['code_taken'] },
      async ({ query, body: { code, ...settings }, caller, request }) =>
        presentCoin(await coins.create(actorOf(caller, request), { ...query, code }, settings)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   get:
   *     tags: [Coins]
   *     summary: Show a coin
   */
  router.get(
    '/api/v1/coins/:code',
    endpoint({ auth: { admin: 'viewer' }, params: ByCode, query: Where, returns: Coin }, async ({ params, query }) =>
      presentCoin(await coins.get({ ...query, ...params })),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   put:
   *     tags: [Coins]
   *     summary: Change a coin
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { clawback: debt }
   */
  router.put(
    '/api/v1/coins/:code',
    endpoint(
      { auth: { admin: 'admin' }, params: ByCode, query: Where, body: CoinChange, returns: Coin },
      async ({ params, query, body, caller, request }) =>
        presentCoin(await coins.update(actorOf(caller, request), { ...query, ...params }, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/toggle:
   *   put:
   *     tags: [Coins]
   *     summary: Enable or disable a coin
   *     description: Without a body it flips. Disabled, it is neither sold nor spent; what is paid for is credited.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/coins/:code/toggle',
    endpoint(
      { auth: { admin: 'admin' }, params: ByCode, query: Where, body: Toggle, returns: Coin },
      async ({ params, query, body, caller, request }) =>
        presentCoin(await coins.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}:
   *   delete:
   *     tags: [Coins]
   *     summary: Delete a coin
   *     description: One that a product grants or that has entries cannot be deleted; disable it.
   */
  router.delete(
    '/api/v1/coins/:code',
    endpoint(
      { auth: { admin: 'admin' }, params: ByCode, query: Where, status: 204, errors: ['in_use'] },
      ({ params, query, caller, request }) => coins.remove(actorOf(caller, request), { ...query, ...params }),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/accounts:
   *   get:
   *     tags: [Coins]
   *     summary: List the accounts of a coin
   */
  router.get(
    '/api/v1/coins/:code/accounts',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByCode, query: AccountsQuery, returns: CoinAccount, list: true },
      async ({ params, query: { project, cursor, limit } }) =>
        page(await coins.accounts({ project, ...params }, { after: cursor, limit }), limit, placeOf, presentAccount),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/accounts/{userId}:
   *   get:
   *     tags: [Coins]
   *     summary: Show the account of a payer
   *     description: A payer without one has an empty one.
   */
  router.get(
    '/api/v1/coins/:code/accounts/:userId',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByHolder, query: Where, returns: CoinAccount },
      async ({ params: { code, userId }, query }) => presentAccount(await coins.account({ ...query, code }, userId)),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/entries:
   *   get:
   *     tags: [Coins]
   *     summary: Read the ledger of a coin
   *     description: Newest first; lines are only ever added.
   */
  router.get(
    '/api/v1/coins/:code/entries',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByCode, query: EntriesQuery, returns: CoinEntry, list: true },
      async ({ params, query: { project, userId, cursor, limit } }) => {
        const rows = await coins.entries({ project, ...params }, { userId, before: cursor?.id, limit });
        return page(rows, limit, ({ createdAt, id }) => ({ createdAt, id: String(id) }), presentEntry);
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/adjustments:
   *   post:
   *     tags: [Coins]
   *     summary: Correct a balance
   *     description: Adds or, with a negative amount, takes coins; never below what is available.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, amount: -5, reason: Credited twice by hand }
   */
  router.post(
    '/api/v1/coins/:code/adjustments',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByCode,
        query: Where,
        body: Adjustment,
        returns: CoinEntry,
        status: 201,
        idempotent: true,
        errors: ['coins_insufficient'],
      },
      async ({ params, query, body, caller, request, idempotent }) =>
        presentEntry(await coins.adjust(actorOf(caller, request), { ...query, ...params }, body, claimOf(idempotent))),
    ),
  );
  return router;
}
