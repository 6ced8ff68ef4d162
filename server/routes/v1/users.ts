import { z } from 'zod';
import type { Coins } from '../../catalog/coins.ts';
import type { Users } from '../../catalog/users.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Reply } from '../../http/reply.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { CoinAccount, presentAccount } from '../wire/coins.ts';
import { Paging } from '../wire/fields.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { pageOf } from '../wire/order-page.ts';
import { Order } from '../wire/orders.ts';
import { page } from '../wire/page.ts';
import { InProject, placeOf } from '../wire/projects.ts';
import { ByUserId, presentUser, User, UserChange, UserInput, UsersQuery } from '../wire/users.ts';

const Where = z.object(InProject);
const UsersOfProject = UsersQuery.extend(InProject);
const OrdersOfUser = z.object({ ...Paging, ...InProject });

/** What the payer routes call. */
export interface UserPorts {
  users: Users;
  coins: Pick<Coins, 'accountsOf'>;
  payments: Pick<PaymentOperations, 'orders'>;
}

/** Payers, under the console. */
export function userRoutes({ users, coins, payments }: UserPorts): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/users:
   *   get:
   *     tags: [Users]
   *     summary: List payers
   */
  router.get(
    '/api/v1/users',
    endpoint({ auth: { admin: 'viewer' }, query: UsersOfProject, returns: User, list: true }, async ({ query }) =>
      page(await users.list(query), query.limit, placeOf, (row) => presentUser(row)),
    ),
  );

  /**
   * @openapi
   * /api/v1/users:
   *   post:
   *     tags: [Users]
   *     summary: Create or change a payer
   *     description: 201 when it is new, 200 when it was there.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover }
   */
  router.post(
    '/api/v1/users',
    endpoint(
      { auth: { admin: 'admin' }, query: Where, body: UserInput, returns: User, status: 201 },
      async ({ query, body: { userId, ...patch }, caller, request }) => {
        const { user, isNew } = await users.upsert(actorOf(caller, request), { ...query, userId }, patch);
        return new Reply({ status: isNew ? 201 : 200, data: presentUser(user) });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   get:
   *     tags: [Users]
   *     summary: Show a payer
   *     description: With the sums of what was paid and given back.
   */
  router.get(
    '/api/v1/users/:userId',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByUserId, query: Where, returns: User },
      async ({ params, query }) => {
        const { user, totals } = await users.withTotals({ ...query, ...params });
        return presentUser(user, totals);
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   put:
   *     tags: [Users]
   *     summary: Change a payer
   *     description: What is left out stays, null clears.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { nickname: null }
   */
  router.put(
    '/api/v1/users/:userId',
    endpoint(
      { auth: { admin: 'admin' }, params: ByUserId, query: Where, body: UserChange, returns: User },
      async ({ params, query, body, caller, request }) =>
        presentUser(await users.update(actorOf(caller, request), { ...query, ...params }, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}/toggle:
   *   put:
   *     tags: [Users]
   *     summary: Block or unblock a payer
   *     description: Without a body it flips. A blocked payer cannot pay but can be refunded.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/users/:userId/toggle',
    endpoint(
      { auth: { admin: 'admin' }, params: ByUserId, query: Where, body: Toggle, returns: User },
      async ({ params, query, body, caller, request }) =>
        presentUser(await users.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   delete:
   *     tags: [Users]
   *     summary: Anonymise a payer
   *     description: Forgets who it is; the row stays, because orders and coins refer to it.
   */
  router.delete(
    '/api/v1/users/:userId',
    endpoint(
      { auth: { admin: 'admin' }, params: ByUserId, query: Where, status: 204 },
      ({ params, query, caller, request }) => users.anonymise(actorOf(caller, request), { ...query, ...params }),
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}/orders:
   *   get:
   *     tags: [Users]
   *     summary: List the orders of a payer
   *     description: Newest first.
   */
  router.get(
    '/api/v1/users/:userId/orders',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByUserId, query: OrdersOfUser, returns: Order, list: true },
      async ({ params, query: { project, cursor, limit } }) => {
        const { userId } = await users.get({ project, ...params });
        return pageOf(await payments.orders({ project, userId }, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}/coins:
   *   get:
   *     tags: [Users]
   *     summary: Coins of a payer
   *     description: Every account, one for each coin.
   */
  router.get(
    '/api/v1/users/:userId/coins',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByUserId, query: Where, returns: z.array(CoinAccount) },
      async ({ params, query }) => (await coins.accountsOf(query.project, params.userId)).map(presentAccount),
    ),
  );
  return router;
}
