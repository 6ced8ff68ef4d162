import { defineEntity, p } from '@mikro-orm/core';
import { code, instant, json, minor, text, words, type RowOf } from './columns.ts';

export const ProjectEntity = defineEntity({
  name: 'Project',
  tableName: 'projects',
  properties: {
    code: code().primary(),
    name: p.string().length(128),
    enabled: p.boolean(),
    remark: text().nullable(),
    createdAt: instant(),
    updatedAt: instant(),
  },
});

/** A payer, unique per project. Deleting a payer through the API anonymises the row and keeps it. */
export const PayerEntity = defineEntity({
  name: 'Payer',
  tableName: 'users',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    userId: code(),
    nickname: p.string().length(128).nullable(),
    email: p.string().length(254).nullable(),
    phone: p.string().length(32).nullable(),
    status: p.string().length(16).$type<'active' | 'blocked'>(),
    metadata: json<Record<string, unknown>>().nullable(),
    anonymisedAt: instant().nullable(),
    /** The payer's orders and coin entries created up to this instant must be anonymised. */
    forgetSince: instant().nullable(),
    /** When the anonymisation is due; null = it is finished, or was never requested. */
    forgetAt: instant().nullable(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  uniques: [{ properties: ['project', 'userId'] }],
  indexes: [
    { properties: ['project', 'createdAt', 'id'] },
    { properties: ['project', 'status', 'createdAt', 'id'] },
    {
      name: 'users_forget',
      expression: `create index "users_forget" on "users" ("forget_at") where forget_at is not null`,
    },
    {
      name: 'users_email',
      expression: `create index "users_email" on "users" ("project", "email", "created_at", "id") where email is not null`,
    },
    {
      name: 'users_phone',
      expression: `create index "users_phone" on "users" ("project", "phone", "created_at", "id") where phone is not null`,
    },
  ],
});

export interface CoinGrant {
  code: string;
  amount: number;
  bonus: number;
}

export interface CoinPrice {
  code: string;
  amount: number;
}

export type SkillResource =
  | { handler: 'static'; content: unknown; contentType?: string }
  | { handler: 'http'; url: string; timeoutMs?: number };

/** A product. `version` increases with every change of the price; each order stores a copy of the product. */
export const ProductEntity = defineEntity({
  name: 'Product',
  tableName: 'products',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    code: code(),
    version: p.integer(),
    name: p.string().length(128),
    description: text().nullable(),
    kind: p.string().length(16).$type<'goods' | 'coin_package' | 'skill'>(),
    enabled: p.boolean(),
    priceMinor: minor(),
    currency: p.string().length(3),
    payWays: words(),
    stock: p.integer().nullable(),
    perUserLimit: p.integer().nullable(),
    saleFrom: instant().nullable(),
    saleTo: instant().nullable(),
    orderType: code().nullable(),
    coin: json<CoinGrant>().nullable(),
    coinPrice: json<CoinPrice>().nullable(),
    resource: json<SkillResource>().nullable(),
    offerTtlSeconds: p.integer().nullable(),
    refundAfterFulfilment: p.boolean(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  uniques: [{ properties: ['project', 'code'] }],
  checks: [
    { name: 'products_price_check', expression: 'price_minor > 0' },
    { name: 'products_stock_check', expression: 'stock is null or stock >= 0' },
  ],
});

export const CoinEntity = defineEntity({
  name: 'Coin',
  tableName: 'coins',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    code: code(),
    name: p.string().length(128),
    enabled: p.boolean(),
    clawback: p.string().length(16).$type<'refuse' | 'debt' | 'partial'>(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  uniques: [{ properties: ['project', 'code'] }],
});

/**
 * A payer's balance of one coin, which is the sum of the payer's ledger entries. `held` is the part reserved for
 * pending refunds. `debt` is what the payer owes because the balance was too low for a clawback.
 */
export const CoinAccountEntity = defineEntity({
  name: 'CoinAccount',
  tableName: 'coin_accounts',
  properties: {
    id: p.uuid().primary(),
    project: code(),
    coin: code(),
    userId: code(),
    balance: minor(),
    held: minor(),
    debt: minor(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  uniques: [{ properties: ['project', 'coin', 'userId'] }],
  indexes: [{ properties: ['project', 'coin', 'createdAt', 'id'] }, { properties: ['project', 'userId'] }],
  checks: [{ name: 'coin_accounts_check', expression: 'balance >= 0 and held >= 0 and debt >= 0 and held <= balance' }],
});

/**
 * One entry of a coin ledger. Entries are never changed; `source` names the cause and is unique, so that no cause is
 * booked twice.
 */
export const CoinEntryEntity = defineEntity({
  name: 'CoinEntry',
  tableName: 'coin_entries',
  properties: {
    id: p.bigint().primary().autoincrement(),
    project: code(),
    coin: code(),
    userId: code(),
    delta: minor(),
    balanceAfter: minor(),
    kind: p.string().length(16).$type<'credit' | 'debit' | 'adjustment' | 'clawback'>(),
    source: p.string().length(200),
    orderNo: code().nullable(),
    bizNo: code().nullable(),
    memo: text().nullable(),
    actor: p.string().length(128),
    createdAt: instant(),
  },
  uniques: [{ properties: ['project', 'coin', 'source'] }],
  indexes: [
    { properties: ['project', 'coin', 'userId', 'id'] },
    { properties: ['project', 'coin', 'id'] },
    { properties: ['orderNo'] },
    {
      name: 'coin_entries_biz_no',
      expression: `create unique index "coin_entries_biz_no" on "coin_entries" ("project", "coin", "actor", "user_id", "biz_no") where kind = 'debit'`,
    },
  ],
});

/**
 * The coins that one refund takes back from the coins credited for its order. `due` (the total) is the sum of `held`
 * (reserved while the refund is pending), `taken` (debited), `debt` (owed by the payer) and `waived` (not claimed).
 */
export const CoinClawbackEntity = defineEntity({
  name: 'CoinClawback',
  tableName: 'coin_clawbacks',
  properties: {
    refundNo: code().primary(),
    orderNo: code().index(),
    project: code(),
    coin: code(),
    userId: code(),
    state: p.string().length(16).$type<'held' | 'taken' | 'returned'>(),
    due: minor(),
    held: minor(),
    taken: minor(),
    debt: minor(),
    waived: minor(),
    /** Counts how often coins were debited or given back. The count makes the `source` of each ledger entry unique. */
    turns: p.integer(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  checks: [
    { name: 'coin_clawbacks_check', expression: 'held >= 0 and taken >= 0 and debt >= 0 and waived >= 0 and due >= 0' },
  ],
});

export type ProjectRow = RowOf<typeof ProjectEntity>;
export type PayerRow = RowOf<typeof PayerEntity>;
export type ProductRow = RowOf<typeof ProductEntity>;
export type CoinRow = RowOf<typeof CoinEntity>;
export type CoinAccountRow = RowOf<typeof CoinAccountEntity>;
export type CoinEntryRow = RowOf<typeof CoinEntryEntity>;
export type CoinClawbackRow = RowOf<typeof CoinClawbackEntity>;
