import { z } from 'zod';
import type { Coins } from '../catalog/coins.ts';
import type { PayerRow, UserTotal } from '../catalog/ports.ts';
import type { Users } from '../catalog/users.ts';
import type { Caller, RequestFacts } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { majorNumber } from '../money.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { CoinAccount, presentAccount } from './coins.ts';
import { InProject, forAdministrators, forApplications, placeOf, projectOf } from './schemas/audience.ts';
import { JsonValue, Paging, SafeText, Timestamp, UserId, UuidPaging, page, pageOf } from './schemas/fields.ts';
import { Toggle, actorOf } from './schemas/identity.ts';
import { OrderEntry } from './schemas/orders.ts';

const Status = z.enum(['active', 'blocked']);
const Email = z.email({ error: 'must be a valid e-mail address' }).max(254);
const Phone = z.string().regex(/^\+?[0-9][0-9 ()-]{2,30}$/, 'must be a valid telephone number');
const Metadata = z
  .record(z.string().max(64), JsonValue)
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 4096, 'must have at most 4096 bytes as JSON');

const settings = {
  nickname: SafeText(1, 128).nullable().optional(),
  email: Email.nullable().optional(),
  phone: Phone.nullable().optional(),
  status: Status.optional(),
  metadata: Metadata.nullable().optional(),
};

/** A payer to create, or to change if it exists. */
const UserInput = z.object({ userId: UserId, ...settings }).meta({ id: 'UserInput' });

/** Absent fields stay unchanged; `null` removes the value of a field. */
const UserChange = z.object(settings).meta({ id: 'UserChange' });

const UsersQuery = z.object({
  ...UuidPaging,
  userId: UserId.optional(),
  status: Status.optional(),
  email: Email.optional(),
  phone: Phone.optional(),
});

const ByUserId = z.object({ userId: UserId });

const Total = z.object({
  mode: z.string(),
  payWay: z.string(),
  currency: z.string(),
  orders: z.int(),
  paidOrders: z.int(),
  paidAmount: z.number(),
  paidAmountMinor: z.int(),
  refundedAmount: z.number(),
  refundedAmountMinor: z.int(),
});

/** `totals` is absent in lists; it is returned only when one payer is requested. */
export const User = z
  .object({
    userId: UserId,
    project: z.string(),
    nickname: z.string().nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    status: Status,
    metadata: z.record(z.string(), JsonValue).nullable(),
    anonymisedAt: Timestamp.nullable(),
    totals: z.array(Total).optional().describe('Totals by mode, channel and currency.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'User' });

function presentUser(row: PayerRow, totals?: readonly UserTotal[]): z.input<typeof User> {
  const { userId, project, nickname, email, phone, status } = row;
  return {
    userId,
    project,
    nickname: nickname ?? null,
    email: email ?? null,
    phone: phone ?? null,
    status,
    metadata: (row.metadata as z.input<typeof User>['metadata']) ?? null,
    anonymisedAt: row.anonymisedAt?.toISOString() ?? null,
    ...(totals ? { totals: totals.map(presentTotal) } : {}),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function presentTotal({ paid, refunded, ...rest }: UserTotal): z.input<typeof Total> {
  const major = (minor: bigint) => majorNumber({ minor, currency: rest.currency });
  return {
    ...rest,
    paidAmount: major(paid),
    paidAmountMinor: Number(paid),
    refundedAmount: major(refunded),
    refundedAmountMinor: Number(refunded),
  };
}

const anyProject = { ...forAdministrators('/api/v1/users'), filter: UsersQuery.extend(InProject.shape) };
const ownProject = { ...forApplications('/api/v2/users', 'user:read', 'user:write'), filter: UsersQuery };

const existing = { 200: { 'application/json': z.object({ data: User }) } };

/** Routes for administrators: payers of every project. */
export function userRoutes(ports: { users: Users }): RouteGroup {
  return buildRoutes(ports, anyProject);
}

/** Routes for applications: payers of the calling application's project. */
export function ownUserRoutes(ports: { users: Users }): RouteGroup {
  return buildRoutes(ports, ownProject);
}

function buildRoutes({ users }: { users: Users }, audience: typeof anyProject | typeof ownProject): RouteGroup {
  const { prefix, read, write, query, filter } = audience;
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/users:
   *   get:
   *     tags: [Users]
   *     operationId: listUsersOfProject
   *     summary: List users
   * /api/v2/users:
   *   get:
   *     tags: [Payers]
   *     operationId: listUsers
   *     summary: List users of the project of the token
   */
  router.get(
    prefix,
    endpoint({ auth: read, query: filter, returns: User, list: true }, async (input) => {
      const rows = await users.list({ ...input.query, project: projectOf(input) });
      return page(rows, input.query.limit, placeOf, (row) => presentUser(row));
    }),
  );

  /**
   * @openapi
   * /api/v1/users:
   *   post:
   *     tags: [Users]
   *     operationId: putUserOfProject
   *     summary: Create or update a user
   *     description: Returns 201 if the user was created, 200 if it already existed.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover }
   * /api/v2/users:
   *   post:
   *     tags: [Payers]
   *     operationId: putUser
   *     summary: Create or update a user of the project of the token
   *     description: Returns 201 if the user was created, 200 if it already existed. A payment also creates its user.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover, metadata: { level: gold } }
   */
  router.post(
    prefix,
    endpoint({ auth: write, query, body: UserInput, returns: User, status: 201, answers: existing }, async (input) => {
      const { userId, ...patch } = input.body;
      const { user, isNew } = await users.upsert(auditedActor(input), { project: projectOf(input), userId }, patch);
      return new Reply({ status: isNew ? 201 : 200, data: presentUser(user) });
    }),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   get:
   *     tags: [Users]
   *     operationId: getUserOfProject
   *     summary: Get a user
   *     description: The response contains the totals of payments and refunds.
   * /api/v2/users/{userId}:
   *   get:
   *     tags: [Payers]
   *     operationId: getUser
   *     summary: Get a user of the project of the token
   */
  router.get(
    `${prefix}/:userId`,
    endpoint({ auth: read, params: ByUserId, query, returns: User }, async (input) => {
      const { user, totals } = await users.withTotals({ project: projectOf(input), ...input.params });
      return presentUser(user, totals);
    }),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   put:
   *     tags: [Users]
   *     operationId: updateUserOfProject
   *     summary: Update a user
   *     description: Omitted fields keep their values, null clears them.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { nickname: null }
   * /api/v2/users/{userId}:
   *   put:
   *     tags: [Payers]
   *     operationId: updateUser
   *     summary: Update a user of the project of the token
   *     description: Omitted fields keep their values, null clears them.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { phone: null }
   */
  router.put(
    `${prefix}/:userId`,
    endpoint({ auth: write, params: ByUserId, query, body: UserChange, returns: User }, async (input) => {
      const key = { project: projectOf(input), ...input.params };
      return presentUser(await users.update(auditedActor(input), key, input.body));
    }),
  );
  return router;
}

/** The administrator of a request, for the audit log; undefined for an application, whose changes are not recorded. */
function auditedActor({ caller, request }: { caller: Caller; request: RequestFacts }) {
  return caller.kind === 'admin' ? actorOf(caller, request) : undefined;
}

const OrdersOfUser = z.object({ ...Paging, ...InProject.shape });

interface ConsoleUserPorts {
  users: Users;
  coins: Pick<Coins, 'accountsOf'>;
  payments: Pick<PaymentOperations, 'orders'>;
}

/** Payer operations of the console only: block, anonymise, list orders and coins. */
export function consoleUserRoutes({ users, coins, payments }: ConsoleUserPorts): RouteGroup {
  const router = routeGroup('/api/v1/users');

  /**
   * @openapi
   * /api/v1/users/{userId}/toggle:
   *   put:
   *     tags: [Users]
   *     operationId: toggleUser
   *     summary: Block or unblock a user
   *     description: Without a body, the current state is inverted. A blocked user cannot pay but can be refunded.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/:userId/toggle',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query' },
        params: ByUserId,
        query: InProject,
        body: Toggle,
        returns: User,
      },
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
   *     description: >-
   *       Erases the personal data of the user everywhere: in the user, in orders and refunds (`subject`, `extra`, `payer`, IP address,
   *       reasons), their histories, events, channel messages, the channel's own text of bill lines, coin ledgers and stored responses.
   *       The user ID itself, amounts, numbers and states remain, because orders and coins refer to them. Data of operations in
   *       progress, and the remaining data of a user with very many orders, is erased automatically later. The audit log is never
   *       changed.
   */
  router.delete(
    '/:userId',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'query' }, params: ByUserId, query: InProject, status: 204 },
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
        auth: { admin: 'viewer', projectScope: 'query' },
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
      {
        auth: { admin: 'viewer', projectScope: 'query' },
        params: ByUserId,
        query: InProject,
        returns: z.array(CoinAccount),
      },
      async ({ params, query }) => (await coins.accountsOf(query.project, params.userId)).map(presentAccount),
    ),
  );
  return router;
}
