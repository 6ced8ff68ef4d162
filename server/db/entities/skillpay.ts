import { defineEntity, p } from '@mikro-orm/core';
import type { Mode, PayWay } from '../../domain.ts';
import type { SkillResource } from './catalog.ts';
import { type RowOf, code, instant, json, queueKey, minor, text } from './columns.ts';

/** One way to pay an offer. */
export interface OfferEntry {
  payWay: PayWay;
  mode: Mode;
}

/** The pay-per-call part of an order: what was offered, and the one fulfilment. */
export const SkillOrderEntity = defineEntity({
  name: 'SkillOrder',
  tableName: 'skill_orders',
  properties: {
    orderNo: code().primary(),
    clientId: code(),
    project: code(),
    resource: code(),
    productVersion: p.integer(),
    bodyDigest: p.string().length(64),
    input: json<unknown>().nullable(),
    handler: json<SkillResource>(),
    refundAfterFulfilment: p.boolean(),
    /** The L1 code as it was issued, so that every 402 carries the same one. */
    paymentCode: text().nullable(),
    /** WeChat's payment code for agents, the newest, and until when it pays. */
    agentCode: text().nullable(),
    agentCodeUntil: instant().nullable(),
    /** The ways to pay the offer, the order's own way first. */
    entries: json<OfferEntry[]>(),
    /** The signed offer and receipt of x402's extension `offer-receipt`. */
    signedOffer: text().nullable(),
    signedReceipt: text().nullable(),
    /** What Alipay's agents are asked with; empty = the account takes no payments of agents. */
    paymentNeeded: text().nullable(),
    /** The trade that an agent of Alipay proved; its delivery is confirmed to Alipay when `confirmAt` comes. */
    agentTradeNo: code().nullable(),
    confirmAt: instant().nullable(),
    confirmTries: p.integer().default(0),
    /** The account of its order, by which confirmations are kept apart. */
    queueKey: queueKey(),
    /** The order that took the place of this one. */
    successor: code().nullable(),
    fulfilment: p.string().length(16).$type<'none' | 'running' | 'done' | 'failed'>(),
    fencing: p.integer(),
    attempts: p.integer(),
    firstAttemptAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    nextAttemptAt: instant().nullable(),
    content: text().nullable(),
    contentType: p.string().length(128).nullable(),
    receipt: text().nullable(),
    failureCode: code().nullable(),
    failureMessage: text().nullable(),
    refundNo: code().nullable(),
    offeredAt: instant(),
    fulfilledAt: instant().nullable(),
  },
  indexes: [
    { properties: ['clientId', 'resource', 'offeredAt'] },
    {
      name: 'skill_orders_confirm',
      expression: `create index "skill_orders_confirm" on "skill_orders" ("confirm_at") where confirm_at is not null`,
    },
    {
      name: 'skill_orders_confirm_queues',
      expression: `create index "skill_orders_confirm_queues" on "skill_orders" ("queue_key", "confirm_at") where confirm_at is not null`,
    },
    {
      name: 'skill_orders_due',
      expression: `create index "skill_orders_due" on "skill_orders" ("next_attempt_at") where next_attempt_at is not null`,
    },
    {
      name: 'skill_orders_due_queues',
      expression: `create index "skill_orders_due_queues" on "skill_orders" ("project", "next_attempt_at") where next_attempt_at is not null`,
    },
  ],
});

/** By project, who asks WeChat for the payment codes of agents. */
export const AgentPayEntity = defineEntity({
  name: 'AgentPay',
  tableName: 'agent_pays',
  properties: {
    project: code().primary(),
    /** Only orders of this mode are asked for. */
    mode: p.string().length(16).$type<Mode>(),
    developerId: code(),
    keyId: code(),
    /** The private key (db/encryption.ts). */
    encrypted: text(),
    /** SHA-256 of the public key. */
    fingerprint: p.string().length(64),
    /** By product, the skill as SkillHub knows it. */
    skills: json<Record<string, { id: string; version: string }>>(),
    lastSuccessAt: instant().nullable(),
    lastFailureAt: instant().nullable(),
    lastFailure: text().nullable(),
    updatedBy: p.string().length(128),
    updatedAt: instant(),
  },
});

export type AgentPayRow = RowOf<typeof AgentPayEntity>;
export type SkillOrderRow = RowOf<typeof SkillOrderEntity>;

/** A pay-per-call order that was paid with coins: no channel and no money; it is written with its debit. */
export const CoinCallEntity = defineEntity({
  name: 'CoinCall',
  tableName: 'coin_calls',
  properties: {
    orderNo: code().primary(),
    clientId: code(),
    project: code(),
    userId: code(),
    resource: code(),
    productVersion: p.integer(),
    subject: p.string().length(128),
    bodyDigest: p.string().length(64),
    input: json<unknown>().nullable(),
    handler: json<SkillResource>(),
    coin: code(),
    amount: minor(),
    refundAfterFulfilment: p.boolean(),
    fulfilment: p.string().length(16).$type<'none' | 'running' | 'done' | 'failed'>(),
    fencing: p.integer(),
    attempts: p.integer(),
    firstAttemptAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    nextAttemptAt: instant().nullable(),
    content: text().nullable(),
    contentType: p.string().length(128).nullable(),
    receipt: text().nullable(),
    failureCode: code().nullable(),
    failureMessage: text().nullable(),
    createdAt: instant(),
    fulfilledAt: instant().nullable(),
    /** When the coins came back. */
    refundedAt: instant().nullable(),
  },
  indexes: [
    { properties: ['project', 'coin', 'createdAt'] },
    {
      name: 'coin_calls_due',
      expression: `create index "coin_calls_due" on "coin_calls" ("next_attempt_at") where next_attempt_at is not null`,
    },
    {
      name: 'coin_calls_due_queues',
      expression: `create index "coin_calls_due_queues" on "coin_calls" ("project", "next_attempt_at") where next_attempt_at is not null`,
    },
  ],
  checks: [{ name: 'coin_calls_amount_check', expression: 'amount > 0' }],
});

export type CoinCallRow = RowOf<typeof CoinCallEntity>;
