import { z } from 'zod';
import type { Coins } from '../catalog/coins.ts';
import type { Spend } from '../catalog/spend.ts';
import { requireConfirmed } from '../http/admin-auth.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { forAdministrators, forApplications, projectOf } from './wire/audience.ts';
import {
  AccountsQuery,
  Adjustment,
  CoinAccount,
  CoinBalance,
  CoinEntry,
  Debit,
  EntriesQuery,
  OwnEntriesQuery,
  presentAccount,
  presentEntry,
} from './wire/coins.ts';
import { ADJUST_COINS_ERRORS, DEBIT_COINS_ERRORS } from './wire/errors.ts';
import { UserId } from './wire/fields.ts';
import { actorOf } from './wire/identity.ts';
import { page } from './wire/page.ts';
import { ByCode, placeOf } from './wire/projects.ts';

const OfUser = z.object({ userId: UserId });
const ByHolder = ByCode.extend(OfUser.shape);

/** What the routes of ledgers call. */
export interface LedgerPorts {
  coins: Coins & Spend;
}

const anyProject = { ...forAdministrators('/api/v1/coins'), filter: EntriesQuery };
const ownProject = { ...forApplications('/api/v2/coins', 'coin:read', 'coin:write'), filter: OwnEntriesQuery };

/** Accounts and ledgers of coins, under the console. */
export function coinLedgerRoutes({ coins }: LedgerPorts): RouteGroup {
  const { prefix, read, write, query } = anyProject;
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v1/coins/{code}/accounts:
   *   get:
   *     tags: [Coins]
   *     operationId: listCoinAccounts
   *     summary: List the accounts of a coin
   */
  router.get(
    '/:code/accounts',
    endpoint(
      { auth: read, params: ByCode, query: AccountsQuery, returns: CoinAccount, list: true },
      async ({ params, query: { project, cursor, limit } }) =>
        page(await coins.accounts({ project, ...params }, { after: cursor, limit }), limit, placeOf, presentAccount),
    ),
  );

  /**
   * @openapi
   * /api/v1/coins/{code}/accounts/{userId}:
   *   get:
   *     tags: [Coins]
   *     operationId: getCoinAccount
   *     summary: Get the coin account of a user
   *     description: A user without an account gets an empty one.
   */
  router.get(
    '/:code/accounts/:userId',
    endpoint(
      { auth: read, params: ByHolder, query, returns: CoinAccount },
      async ({ params: { code, userId }, query: { project } }) =>
        presentAccount(await coins.account({ project, code }, userId)),
    ),
  );
  addEntries(router, coins, anyProject);

  /**
   * @openapi
   * /api/v1/coins/{code}/adjustments:
   *   post:
   *     tags: [Coins]
   *     operationId: adjustCoins
   *     summary: Adjust a balance
   *     description: >-
   *       Adds coins or, with a negative amount, deducts them; never more than are available. Outside Debug, adding more than
   *       `Approval.CoinsAbove` requires a password that was given within the last five minutes.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, amount: -5, reason: Credited twice by hand }
   */
  router.post(
    '/:code/adjustments',
    endpoint(
      {
        auth: write,
        params: ByCode,
        query,
        body: Adjustment,
        returns: CoinEntry,
        status: 201,
        idempotent: true,
        errors: ADJUST_COINS_ERRORS,
      },
      async ({ params, query: { project }, body, caller, request, claim }) =>
        presentEntry(
          await coins.adjust(actorOf(caller, request), { project, ...params }, body, claim, () =>
            requireConfirmed(caller, 'where-live'),
          ),
        ),
    ),
  );
  return router;
}

/** Coins of the payers of the calling application's project. */
export function ownCoinRoutes({ coins }: LedgerPorts): RouteGroup {
  const { prefix, read, write } = ownProject;
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v2/coins/{code}/balance:
   *   get:
   *     tags: [Coin balances]
   *     operationId: getCoinBalance
   *     summary: Get the coin balance of a user
   *     description: The spendable balance; 0 for a user without an account.
   */
  router.get(
    '/:code/balance',
    endpoint(
      { auth: read, params: ByCode, query: OfUser, returns: CoinBalance },
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
   *     tags: [Coin balances]
   *     operationId: debitCoins
   *     summary: Debit coins from a user
   *     description: Idempotent by `bizNo`, so the same number and amount of the same application and user is the same debit; another amount is refused. The balance never drops below zero.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, amount: 20, bizNo: game-77, memo: A new hat }
   */
  router.post(
    '/:code/debit',
    endpoint(
      { auth: write, params: ByCode, body: Debit, returns: CoinEntry, idempotent: true, errors: DEBIT_COINS_ERRORS },
      async ({ params, body, caller: { clientId, project }, claim }) => {
        const debit = { ...body, memo: body.memo ?? null };
        return presentEntry(await coins.debit(clientId, { project, ...params }, debit, claim));
      },
    ),
  );
  addEntries(router, coins, ownProject);
  return router;
}

function addEntries(
  router: RouteGroup,
  coins: Coins,
  { read, filter }: Pick<typeof anyProject | typeof ownProject, 'read' | 'filter'>,
): void {
  /**
   * @openapi
   * /api/v1/coins/{code}/entries:
   *   get:
   *     tags: [Coins]
   *     operationId: listCoinEntriesOfProject
   *     summary: List the ledger entries of a coin
   *     description: Newest first; the ledger is append-only.
   * /api/v2/coins/{code}/entries:
   *   get:
   *     tags: [Coin balances]
   *     operationId: listCoinEntries
   *     summary: List the ledger entries of a user
   *     description: Newest first.
   */
  router.get(
    '/:code/entries',
    endpoint({ auth: read, params: ByCode, query: filter, returns: CoinEntry, list: true }, async (input) => {
      const { userId, cursor, limit } = input.query;
      const key = { project: projectOf(input), ...input.params };
      const rows = await coins.entries(key, { userId, before: cursor?.id, limit });
      return page(rows, limit, ({ createdAt, id }) => ({ createdAt, id: String(id) }), presentEntry);
    }),
  );
}
