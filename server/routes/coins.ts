import { z } from 'zod';
import type { Coins, Spend } from '../catalog/coins.ts';
import type { CoinAccountRow, CoinEntryRow, CoinRow } from '../catalog/ports.ts';
import { requireConfirmed } from '../http/authenticate.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { ByCode, InProject, forAdministrators, forApplications, placeOf, projectOf } from './schemas/audience.ts';
import { ADJUST_COINS_ERRORS, CREATE_COIN_ERRORS, DEBIT_COINS_ERRORS, DELETE_COIN_ERRORS } from './schemas/errors.ts';
import { Code, Flag, Id, NumberPaging, SafeText, Timestamp, UserId, UuidPaging, page } from './schemas/fields.ts';
import { Toggle, actorOf } from './schemas/identity.ts';

const Clawback = z.enum(['refuse', 'debt', 'partial']);
const mostCoins = 1_000_000_000_000;

const NewCoin = z
  .object({ code: Code, name: SafeText(1, 128), clawback: Clawback.default('refuse') })
  .meta({ id: 'NewCoin' });

/** Fields that are absent from the request stay unchanged. */
const CoinChange = z
  .object({ name: SafeText(1, 128), clawback: Clawback })
  .partial()
  .meta({ id: 'CoinChange' });

/** A coin (a virtual currency of a project) as the API returns it. */
const Coin = z
  .object({
    code: Code,
    project: z.string(),
    name: z.string(),
    enabled: z.boolean(),
    clawback: Clawback,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Coin' });

/** `available` is the part of the balance that the payer can spend. */
export const CoinAccount = z
  .object({ userId: z.string(), coin: z.string(), balance: z.int(), held: z.int(), available: z.int(), debt: z.int() })
  .meta({ id: 'CoinAccount' });

/** Unlike administrators, applications see only the available amount. */
const CoinBalance = z.object({ userId: z.string(), coin: z.string(), available: z.int() }).meta({ id: 'CoinBalance' });

export const CoinEntry = z
  .object({
    id: z.string(),
    userId: z.string(),
    coin: z.string(),
    amount: z.int().describe('Coins that were added or, if negative, deducted.'),
    balanceAfter: z.int(),
    kind: z.enum(['credit', 'debit', 'adjustment', 'clawback']),
    orderNo: z.string().nullable(),
    bizNo: z.string().nullable(),
    memo: z.string().nullable(),
    actor: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'CoinEntry' });

const Adjustment = z
  .object({
    userId: UserId,
    amount: z
      .int()
      .min(-mostCoins)
      .max(mostCoins)
      .refine((amount) => amount !== 0, 'must not be 0'),
    reason: SafeText(1, 200),
  })
  .meta({ id: 'CoinAdjustment' });

const Debit = z
  .object({
    userId: UserId,
    amount: z.int().min(1).max(mostCoins),
    bizNo: Id.describe("The caller's own number of the debit. A repeated number never debits twice."),
    memo: SafeText(1, 200).optional(),
  })
  .meta({ id: 'CoinDebit' });

const CoinsQuery = z.object({ ...UuidPaging, ...InProject.shape, enabled: Flag.optional() });
const AccountsQuery = z.object({ ...UuidPaging, ...InProject.shape });
const EntriesQuery = z.object({ ...NumberPaging, ...InProject.shape, userId: UserId.optional() });
const OwnEntriesQuery = z.object({ ...NumberPaging, userId: UserId });

function presentCoin(row: CoinRow): z.input<typeof Coin> {
  const { code, project, name, enabled, clawback, createdAt, updatedAt } = row;
  const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return { code, project, name, enabled, clawback, ...times };
}

/** Converts a payer's coin account from the database to the form in which the API returns it. */
export function presentAccount(
  row: Pick<CoinAccountRow, 'userId' | 'coin' | 'balance' | 'held' | 'debt'>,
): z.input<typeof CoinAccount> {
  const { userId, coin, balance, held, debt } = row;
  const sums = { balance: Number(balance), held: Number(held), available: Number(balance - held), debt: Number(debt) };
  return { userId, coin, ...sums };
}

function presentEntry(row: CoinEntryRow): z.input<typeof CoinEntry> {
  const { userId, coin, kind, actor } = row;
  return {
    id: String(row.id),
    userId,
    coin,
    kind,
    actor,
    amount: Number(row.delta),
    balanceAfter: Number(row.balanceAfter),
    orderNo: row.orderNo ?? null,
    bizNo: row.bizNo ?? null,
    memo: row.memo ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

const OfUser = z.object({ userId: UserId });
const ByHolder = ByCode.extend(OfUser.shape);

interface LedgerPorts {
  coins: Coins & Spend;
}

const anyProject = { ...forAdministrators('/api/v1/coins'), filter: EntriesQuery };
const ownProject = { ...forApplications('/api/v2/coins', 'coin:read', 'coin:write'), filter: OwnEntriesQuery };

/** Routes for administrators: read and adjust the coin balances of payers, and list the ledger entries. */
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
   *     description: For a user without an account, an empty account is returned.
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
   *       Adds coins or, with a negative amount, deducts them. No more coins than are available can be deducted. Unless Debug is on,
   *       adding more than `Approval.CoinsAbove` requires that the password was confirmed within the last five minutes.
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

/** Routes for applications: read and debit the coin balances of the payers of their project. */
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
   *     description: The coins that the user can spend; 0 for a user without an account.
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
   *     description: >-
   *       Idempotent by `bizNo`. If the same application sends the same number and amount for the same user again, no second debit is
   *       made; a different amount is rejected. The balance never drops below zero.
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
   *     description: Newest first. Entries are never changed or removed.
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

/** Routes for administrators: list, create, change, enable and delete coins (virtual currencies of a project). */
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
      { auth: { admin: 'viewer', projectScope: 'query' }, query: CoinsQuery, returns: Coin, list: true },
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
   *     description: >-
   *       The clawback rule (refuse, debt or partial) decides how a refund is handled if the coins of the package are already spent.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: gold, name: Gold coin, clawback: refuse }
   */
  router.post(
    '/api/v1/coins',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
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
      { auth: { admin: 'viewer', projectScope: 'query' }, params: ByCode, query: InProject, returns: Coin },
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
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByCode,
        query: InProject,
        body: CoinChange,
        returns: Coin,
      },
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
   *     description: >-
   *       Without a body, the current state is inverted. A disabled coin can be neither sold nor spent; paid packages are still
   *       credited.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/coins/:code/toggle',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByCode,
        query: InProject,
        body: Toggle,
        returns: Coin,
      },
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
        auth: { admin: 'admin', projectScope: 'query' },
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
