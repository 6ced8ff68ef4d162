import { z } from 'zod';
import type { Coins } from '../../catalog/coins.ts';
import type { Spend } from '../../catalog/spend.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import { CoinBalance, CoinEntry, Debit, OwnEntriesQuery, presentEntry } from '../wire/coins.ts';
import { UserId } from '../wire/fields.ts';
import { page } from '../wire/page.ts';
import { ByCode } from '../wire/projects.ts';

const OfUser = z.object({ userId: UserId });

/** Coins of the payers of the calling application's project. */
export function ownCoinRoutes({ coins }: { coins: Coins & Spend }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/coins/{code}/balance:
   *   get:
   *     tags: [Coins]
   *     summary: Balance of a payer
   *     description: What can be spent; 0 for a payer who never had any.
   */
  router.get(
    '/api/v2/coins/:code/balance',
    endpoint(
      { auth: { scope: 'coin:read' }, params: ByCode, query: OfUser, returns: CoinBalance },
      async ({ params, query, caller: { project } }) => {
        const { userId, coin, balance, held } = await coins.account({ project, ...params }, query.userId);
        return { userId, coin, available: Number(balance - held) };
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/coins/{code}/debit:
   *   post:
   *     tags: [Coins]
   *     summary: Take coins of a payer
   *     description: The same `bizNo` and amount again is the same debit; with another amount it is refused. Never below zero.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, amount: 20, bizNo: game-77, memo: A new hat }
   */
  router.post(
    '/api/v2/coins/:code/debit',
    endpoint(
      {
        auth: { scope: 'coin:write' },
        params: ByCode,
        body: Debit,
        returns: CoinEntry,
        idempotent: true,
        errors: ['coins_insufficient', 'coin_disabled', 'biz_no_used'],
      },
      async ({ params, body, caller: { clientId, project }, idempotent }) => {
        const debit = { ...body, memo: body.memo ?? null };
        return presentEntry(await coins.debit(clientId, { project, ...params }, debit, claimOf(idempotent)));
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/coins/{code}/entries:
   *   get:
   *     tags: [Coins]
   *     summary: Read the ledger of a payer
   *     description: Newest first.
   */
  router.get(
    '/api/v2/coins/:code/entries',
    endpoint(
      { auth: { scope: 'coin:read' }, params: ByCode, query: OwnEntriesQuery, returns: CoinEntry, list: true },
      async ({ params, query: { userId, cursor, limit }, caller: { project } }) => {
        const rows = await coins.entries({ project, ...params }, { userId, before: cursor?.id, limit });
        return page(rows, limit, ({ createdAt, id }) => ({ createdAt, id: String(id) }), presentEntry);
      },
    ),
  );
  return router;
}
