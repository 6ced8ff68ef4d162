import { defineEntity, p } from '@mikro-orm/core';
import type { Mode, PayWay } from '../../domain.ts';
import type { SkillResource } from './catalog.ts';
import { type RowOf, code, instant, json, queueKey, minor, text } from './columns.ts';

export interface OfferEntry {
  payWay: PayWay;
  mode: Mode;
}

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
    /** The payment code is stored, so that every 402 response contains the same code. */
    paymentCode: text().nullable(),
    /** The newest payment code for agents that WeChat issued, and when it expires. */
    agentCode: text().nullable(),
    agentCodeUntil: instant().nullable(),
    /** The payment methods of the offer; the first is the method of this order. */
    entries: json<OfferEntry[]>(),
    /** The signed offer and receipt of x402's extension `offer-receipt`. */
    signedOffer: text().nullable(),
    signedReceipt: text().nullable(),
    /** The payment request for agents with an Alipay wallet; empty = the account accepts no payments by agents. */
    paymentNeeded: text().nullable(),
    /**
     * The Alipay trade number for which an agent sent a payment proof. The delivery is confirmed to Alipay at
     * `confirmAt`.
     */
    agentTradeNo: code().nullable(),
    confirmAt: instant().nullable(),
    confirmTries: p.integer().default(0),
    queueKey: queueKey(),
    /** The number of the order that replaced this order. */
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

/** The developer id and private key with which a project requests payment codes for agents from WeChat. */
export const AgentPayEntity = defineEntity({
  name: 'AgentPay',
  tableName: 'agent_pays',
  properties: {
    project: code().primary(),
    /** `simulator`, `sandbox` or `live`. Payment codes are requested only for orders of this mode. */
    mode: p.string().length(16).$type<Mode>(),
    developerId: code(),
    keyId: code(),
    encrypted: text(),
    /** SHA-256 of the public key. */
    fingerprint: p.string().length(64),
    /** The skill id and version at SkillHub, by product code. */
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

/** A pay-per-call order paid with coins; its row is inserted in the same transaction as the coin debit. */
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
