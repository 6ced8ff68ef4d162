import { z } from 'zod';
import type { Coins } from '../../catalog/coins.ts';
import type { Users } from '../../catalog/users.ts';
import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { CoinAccount, presentAccount } from '../wire/coins.ts';
import { Paging } from '../wire/fields.ts';
import { actorOf, Toggle } from '../wire/identity.ts';
import { pageOf } from '../wire/order-page.ts';
import { OrderEntry } from '../wire/orders.ts';
import { InProject } from '../wire/projects.ts';
import { ByUserId, presentUser, User } from '../wire/users.ts';

const OrdersOfUser = z.object({ ...Paging, ...InProject.shape });

/** What the console's own routes of payers call. */
export interface ConsoleUserPorts {
  users: Users;
  coins: Pick<Coins, 'accountsOf'>;
  payments: Pick<PaymentOperations, 'orders'>;
}

/** What only the console does with payers: block, anonymise, and look at their orders and coins. */
export function consoleUserRoutes({ users, coins, payments }: ConsoleUserPorts): RouteGroup {
  const router = routeGroup('/api/v1/users');

  /**
   * @openapi
   * /api/v1/users/{userId}/toggle:
   *   put:
   *     tags: [Users]
   *     operationId: toggleUser
   *     summary: Block or unblock a user
   *     description: Without a body the state is toggled. A blocked user cannot pay but can be refunded.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/:userId/toggle',
    endpoint(
      { auth: { admin: 'admin', reach: 'query' }, params: ByUserId, query: InProject, body: Toggle, returns: User },
      async ({ params, query, body, caller, request }) =>
        presentUser(await users.toggle(actorOf(caller, request), { ...query, ...params }, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   delete:
   *     tags: [Users]
   *     operationId: anonymiseUser
   *     summary: Anonymise a user
   *     description: >
   *       Erases what was said about the user everywhere: in the user, in orders and refunds (`subject`, `extra`, `payer`, IP address, reasons), their histories, events,
   *       channel messages, the channel's own text of bill lines, coin ledgers and stored answers. The user ID itself, amounts, numbers and states remain, because
   *       orders and coins refer to them. What is still in progress, and the rest of a user with very many orders, follows by itself; the audit log is never changed.
   */
  router.delete(
    '/:userId',
    endpoint(
      { auth: { admin: 'admin', reach: 'query' }, params: ByUserId, query: InProject, status: 204 },
      ({ params, query, caller, request }) => users.anonymise(actorOf(caller, request), { ...query, ...params }),
    ),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}/orders:
   *   get:
   *     tags: [Users]
   *     operationId: listOrdersOfUser
   *     summary: List the orders of a user
   *     description: Newest first.
   */
  router.get(
    '/:userId/orders',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'query' },
        params: ByUserId,
        query: OrdersOfUser,
        returns: OrderEntry,
        list: true,
      },
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
   *     operationId: listCoinsOfUser
   *     summary: List the coin accounts of a user
   *     description: One account per coin.
   */
  router.get(
    '/:userId/coins',
    endpoint(
      { auth: { admin: 'viewer', reach: 'query' }, params: ByUserId, query: InProject, returns: z.array(CoinAccount) },
      async ({ params, query }) => (await coins.accountsOf(query.project, params.userId)).map(presentAccount),
    ),
  );
  return router;
}
