// Orders with their history, exceptions (cases for an operator), channel messages, notifications and idempotency keys.
// Also the side effects of orders that must still run.

import { defineEntity, p } from '@mikro-orm/core';
import {
  type ChannelOptions,
  type CloseReason,
  type EffectRun,
  type Mode,
  type OrderState,
  type PayHint,
  type PayWay,
  type ProductSnapshot,
  type Scene,
  WITHOUT_DECIMALS,
} from '../../domain.ts';
import { type RowOf, bytes, code, instant, json, minor, text, words } from './columns.ts';

/** Money in JSON: minor units as text. */
export interface StoredMoney {
  minor: string;
  currency: string;
}

/** Fee, net amount and received amount of a payment, as the channel reported them. */
export interface StoredSettlement {
  fee?: StoredMoney | undefined;
  net?: StoredMoney | undefined;
  received?: StoredMoney | undefined;
  completedAt?: string | undefined;
}

/** SQL condition for currencies without decimals, such as JPY: one major unit is one minor unit. */
export const IN_WHOLE_UNITS = `currency in (${WITHOUT_DECIMALS.map((code) => `'${code}'`).join(', ')})`;

/**
 * The order status that the API shows (payments/view.ts), as an SQL expression. The index and the list query must use
 * exactly this expression, so that PostgreSQL uses the index.
 */
export const ORDER_STATUS = `case when paid > 0 and refunded >= paid then 'refunded' when state = 'paid' and refunded > 0 then 'partially_refunded' else state::text end`;

/**
 * An order: one payment attempt at one channel (`payWay`), under one order number at the channel. Only the function
 * `settle` writes `state` (server/README.md, "Orders").
 */
export const OrderEntity = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    orderNo: code().primary(),
    kind: p.string().length(16).$type<'payment' | 'skillpay'>(),
    clientId: code(),
    project: code(),
    merchantOrderNo: code().nullable(),
    mode: p.string().length(16).$type<Mode>(),
    payWay: p.string().length(16).$type<PayWay>(),
    account: p.string().length(128),
    configVersion: p.integer(),
    scene: p.string().length(16).$type<Scene>(),
    subject: text(),
    orderType: code().nullable(),
    userId: code().nullable(),
    extra: text().nullable(),
    amount: minor(),
    currency: p.string().length(3),
    factsHash: p.string().length(43),
    product: json<ProductSnapshot>().nullable(),
    productCode: code().nullable(),
    stockHeld: p.boolean(),
    /**
     * Whether side effects of the order still wait in the table `due_effects`. If so, later side effects of the order
     * are queued there too, so that they run in sequence.
     */
    effectsDue: p.boolean().default(false),
    /** The ends of the order after which a late payment is accepted, such as `expiry close`; after others it is refunded. */
    latePayment: p.string().length(32),
    state: p.string().length(16).$type<OrderState>(),
    closeReason: p.string().length(16).$type<CloseReason>().nullable(),
    closeAsked: p.boolean(),
    closeAnswered: p.boolean(),
    failureCode: p.string().length(128).nullable(),
    failureMessage: text().nullable(),
    payer: p.string().length(256).nullable(),
    paid: minor(),
    refunded: minor(),
    refunding: minor(),
    overrun: minor(),
    channelOrderId: p.string().length(128).nullable(),
    channelTradeNo: p.string().length(128).nullable(),
    credential: json<PayHint>().nullable(),
    /** When `credential` (with which the payer pays) must be renewed; null = it is valid until the order expires. */
    credentialUntil: instant().nullable(),
    returnUrl: text().nullable(),
    notifyUrl: text().nullable(),
    clientIp: code().nullable(),
    openId: p.string().length(128).nullable(),
    /** WeChat Pay: the appid with which the order was placed; null = the appid of the order's configuration version. */
    appId: p.string().length(32).nullable(),
    payCode: p.string().length(64).nullable(),
    channelOptions: json<ChannelOptions>().nullable(),
    sequence: p.integer(),
    placeTries: p.integer(),
    absentCount: p.integer(),
    absentFirstAt: instant().nullable(),
    captures: p.integer(),
    captureState: p.string().length(16).$type<'live' | 'unknown' | 'pending'>().nullable(),
    captureLeasedUntil: instant().nullable(),
    /** Why the capture is pending, or the channel's error code of the last refused capture. */
    captureReason: p.string().length(128).nullable(),
    /** How often the payer was asked to choose another way to pay because the channel refused the capture. */
    approvalsAsked: p.integer().default(0),
    approvalAskedAt: instant().nullable(),
    /**
     * For an in-store payment (payer's code), a request that closes the order can also refund the payment. This is the
     * time until which such a request counts as running. After this time its result counts as unknown. null = no such
     * request waits for its result.
     */
    reverseDoubtAt: instant().nullable(),
    settlement: json<StoredSettlement>().nullable(),
    /** Whether the order counts towards the limits of its application. */
    limited: p.boolean().default(false),
    /** W3C `traceparent` of the request that placed the order; null = not traced. */
    traceParent: p.string().length(55).nullable(),
    checks: p.integer(),
    nextCheckAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    checkedAt: instant().nullable(),
    createdAt: instant(),
    sentAt: instant(),
    expiresAt: instant(),
    paidAt: instant().nullable(),
    closedAt: instant().nullable(),
  },
  checks: [
    { name: 'orders_amount_check', expression: 'amount > 0 and amount <= 10000000000' },
    {
      name: 'orders_refunds_check',
      expression:
        'refunded >= 0 and refunding >= 0 and overrun >= 0 and paid >= 0 and refunded + refunding <= paid + overrun',
    },
  ],
  // An index that sorts ends with `created_at`: for a page all orders of one instant are read and sorted by `order_no`.
  // The 27 bytes of a number in each entry would double most of these indexes. A partial index on a column that is set
  // serves `column = value` as well, because a value is never null.
  indexes: [
    {
      name: 'orders_live_merchant_no',
      expression: `create unique index "orders_live_merchant_no" on "orders" ("client_id", "merchant_order_no") where merchant_order_no is not null and state not in ('closing', 'closed', 'failed')`,
    },
    {
      name: 'orders_channel_trade_no',
      expression: `create unique index "orders_channel_trade_no" on "orders" ("channel_trade_no", "pay_way", "account") where channel_trade_no is not null`,
    },
    {
      name: 'orders_due',
      expression: `create index "orders_due" on "orders" ("next_check_at") where next_check_at is not null`,
    },
    {
      name: 'orders_due_queues',
      expression: `create index "orders_due_queues" on "orders" ((pay_way || ' ' || mode || ' ' || account), "next_check_at") where next_check_at is not null`,
    },
    {
      name: 'orders_held',
      expression: `create index "orders_held" on "orders" ("pay_way", "mode", "created_at") where capture_state = 'pending'`,
    },
    {
      name: 'orders_open_offers',
      expression: `create index "orders_open_offers" on "orders" ("client_id") where kind = 'skillpay' and state in ('created', 'pending')`,
    },
    {
      name: 'orders_created',
      expression: `create index "orders_created" on "orders" ("created_at") include ("mode", "project", "state")`,
    },
    {
      name: 'orders_paid',
      expression: `create index "orders_paid" on "orders" ("mode", "paid_at") include ("project", "pay_way", "currency", "paid") where paid_at is not null`,
    },
    {
      name: 'orders_product_user',
      expression: `create index "orders_product_user" on "orders" ("project", "product_code", "user_id") where product_code is not null`,
    },
    { name: 'orders_client_created', properties: ['clientId', 'createdAt'] },
    { name: 'orders_project_created', properties: ['project', 'createdAt'] },
    { name: 'orders_pay_way_created', properties: ['payWay', 'createdAt'] },
    { name: 'orders_mode_created', properties: ['mode', 'createdAt'] },
    { name: 'orders_amount_created', properties: ['amount', 'createdAt'] },
    {
      name: 'orders_whole_amount_created',
      expression: `create index "orders_whole_amount_created" on "orders" ("amount", "created_at") where ${IN_WHOLE_UNITS}`,
    },
    {
      name: 'orders_status',
      expression: `create index "orders_status" on "orders" ((${ORDER_STATUS}), "created_at")`,
    },
    {
      name: 'orders_type_created',
      expression: `create index "orders_type_created" on "orders" ("order_type", "created_at") where order_type is not null`,
    },
    {
      name: 'orders_user_created',
      expression: `create index "orders_user_created" on "orders" ("user_id", "created_at") where user_id is not null`,
    },
    {
      name: 'orders_merchant_no',
      expression: `create index "orders_merchant_no" on "orders" ("merchant_order_no") where merchant_order_no is not null`,
    },
    {
      name: 'orders_channel_order',
      expression: `create index "orders_channel_order" on "orders" ("channel_order_id") where channel_order_id is not null`,
    },
  ],
});

/** One transition in an order's history; `rule` is the name of the transition (payments/core/transitions.ts). */
export const TransitionEntity = defineEntity({
  name: 'Transition',
  tableName: 'transitions',
  properties: {
    id: p.bigint().primary().autoincrement(),
    orderNo: code(),
    refundNo: code().nullable(),
    sequence: p.integer(),
    fromState: p.string().length(16).nullable(),
    toState: p.string().length(16),
    rule: p.string().length(32),
    cause: p.string().length(64),
    outcome: json<Record<string, unknown>>().nullable(),
    actor: p.string().length(128),
    /** The id of the request that caused the transition; null = a job caused it. */
    requestId: p.uuid().nullable(),
    at: instant(),
  },
  uniques: [{ properties: ['orderNo', 'sequence'] }],
});

/** An exception: a case that an administrator must decide. For each order the API shows the newest open exception. */
export const OrderExceptionEntity = defineEntity({
  name: 'OrderException',
  tableName: 'order_exceptions',
  properties: {
    id: p.uuid().primary(),
    orderNo: code(),
    refundNo: code().nullable(),
    clientId: code(),
    project: code(),
    kind: code(),
    dedupe: p.string().length(128),
    detail: json<Record<string, unknown>>().nullable(),
    receivedMinor: minor().nullable(),
    receivedCurrency: p.string().length(3).nullable(),
    blocksRefunds: p.boolean(),
    state: p.string().length(16).$type<'open' | 'resolved'>(),
    resolution: code().nullable(),
    reason: text().nullable(),
    resolvedBy: p.string().length(128).nullable(),
    createdAt: instant(),
    resolvedAt: instant().nullable(),
  },
  uniques: [{ properties: ['orderNo', 'kind', 'dedupe'] }],
  indexes: [{ properties: ['state', 'createdAt', 'id'] }],
});

/** A message to or from a channel, for the timeline of an order; stored without secrets. */
export const ChannelMessageEntity = defineEntity({
  name: 'ChannelMessage',
  tableName: 'channel_messages',
  properties: {
    id: p.bigint().primary().autoincrement(),
    orderNo: code().index(),
    refundNo: code().nullable(),
    payWay: p.string().length(16).$type<PayWay>(),
    direction: p.string().length(8).$type<'out' | 'in'>(),
    call: code(),
    status: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    /**
     * The request id by which the channel's support finds the request. If repeated messages were only counted in this
     * row, it is the id of the last one.
     */
    supportId: p.string().length(128).nullable(),
    /** Request and response, compressed (db/queries/messages.ts). */
    texts: bytes().nullable(),
    /** A digest of the response, so that equivalent responses to queries are found (digestOf). */
    digest: p.bigint().nullable(),
    note: text().nullable(),
    /** The account whose key verified a notification. */
    verifiedBy: p.string().length(128).nullable(),
    at: instant(),
    /**
     * How often the same query and response occurred. In a mark (a row that replaces dropped messages): the number of
     * dropped messages.
     */
    times: p.integer().default(1),
    /** When the message occurred last; null = the message occurred only once. */
    lastAt: instant().nullable(),
  },
});

/**
 * A notification of a channel. Its row is committed together with its effect on the order, so a repeated notification
 * needs no processing.
 */
export const NotificationEntity = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    payWay: p.string().length(16).$type<PayWay>().primary(),
    account: p.string().length(128).primary(),
    notificationId: p.string().length(128).primary(),
    orderNo: code(),
    copies: p.integer(),
    receivedAt: instant().index(),
  },
});

/** An Idempotency-Key: its request is running, or is finished and its response is stored. */
export const IdempotencyKeyEntity = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    scope: p.string().length(128).primary(),
    route: p.string().length(128).primary(),
    key: p.string().length(255).primary(),
    fingerprint: p.string().length(64),
    intentNo: code().nullable(),
    state: p.string().length(16).$type<'running' | 'done'>(),
    leasedUntil: instant().nullable(),
    status: p.integer().nullable(),
    body: text().nullable(),
    createdAt: instant().index(),
  },
  indexes: [
    {
      name: 'idempotency_keys_intent',
      expression: `create index "idempotency_keys_intent" on "idempotency_keys" ("intent_no") where intent_no is not null`,
    },
  ],
});

export type OrderRow = RowOf<typeof OrderEntity>;
export type TransitionRow = RowOf<typeof TransitionEntity>;
export type OrderExceptionRow = RowOf<typeof OrderExceptionEntity>;
export type ChannelMessageRow = RowOf<typeof ChannelMessageEntity>;
export type NotificationRow = RowOf<typeof NotificationEntity>;
export type IdempotencyKeyRow = RowOf<typeof IdempotencyKeyEntity>;

export type RequestKey = Pick<IdempotencyKeyRow, 'route' | 'key'>;

export type KeptKey = Pick<IdempotencyKeyRow, 'fingerprint' | 'intentNo' | 'state' | 'leasedUntil' | 'status' | 'body'>;

/**
 * For the statistics: how many unpaid orders were removed, counted by the quarter of an hour in which they were
 * created. In every time zone a day begins at a quarter of an hour. Ordinary orders are counted per project,
 * pay-per-call orders per skill (`resource`).
 */
export const RemovedOrdersEntity = defineEntity({
  name: 'RemovedOrders',
  tableName: 'removed_orders',
  properties: {
    periodAt: instant().primary(),
    mode: p.string().length(16).$type<Mode>().primary(),
    project: code().primary(),
    state: p.string().length(16).$type<OrderState>().primary(),
    /** The application of pay-per-call orders. Empty for other payments; `resource` is then also empty. */
    clientId: code().primary(),
    resource: code().primary(),
    payWay: p.string().length(16).$type<PayWay>().primary(),
    currency: p.string().length(3).primary(),
    count: p.integer(),
  },
});

export type RemovedOrdersRow = RowOf<typeof RemovedOrdersEntity>;

/**
 * A side effect of an order or refund transition, for example on stock or coins. It is stored if it could not run in
 * the commit of the transition, or if an earlier side effect of the same order must run first. Side effects run in the
 * sequence of `sequence` and `place`. Each runs once.
 */
export const DueEffectEntity = defineEntity({
  name: 'DueEffect',
  tableName: 'due_effects',
  properties: {
    id: p.uuid().primary(),
    orderNo: code(),
    refundNo: code().nullable(),
    project: code(),
    /** The number of the order's transition; `place` is the position of the effect within the transition. */
    sequence: p.integer(),
    place: p.integer(),
    name: p.string().length(128),
    run: words().$type<EffectRun['run'][number][]>(),
    /** The order's refunded amount, and its amount in pending refunds, after the transition. */
    refunded: minor(),
    refunding: minor(),
    state: p.string().length(16).$type<'due' | 'done' | 'given_up'>(),
    tries: p.integer(),
    /** When the effect is due; null while it waits for an earlier effect or for an administrator's decision. */
    nextAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    lastError: text().nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  uniques: [{ properties: ['orderNo', 'sequence', 'name'] }],
  indexes: [
    {
      name: 'due_effects_due',
      expression: `create index "due_effects_due" on "due_effects" ("next_at") where state = 'due'`,
    },
    {
      name: 'due_effects_due_queues',
      expression: `create index "due_effects_due_queues" on "due_effects" ("project", "next_at") where state = 'due'`,
    },
    {
      name: 'due_effects_finished',
      expression: `create index "due_effects_finished" on "due_effects" ("finished_at") where finished_at is not null`,
    },
  ],
});

export type DueEffectRow = RowOf<typeof DueEffectEntity>;
