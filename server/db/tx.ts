import type { SqlEntityManager } from '@mikro-orm/postgresql';
import * as catalog from './entities/catalog.ts';
import * as credentials from './entities/credentials.ts';
import * as events from './entities/events.ts';
import * as identity from './entities/identity.ts';
import * as orders from './entities/orders.ts';
import { RefundEntity, type RefundRow } from './entities/refunds.ts';
import { SkillOrderEntity, type SkillOrderRow } from './entities/skillpay.ts';
import { numbered, run } from './statement.ts';
import { Table } from './table.ts';

/** Enqueues a job in the caller's transaction. */
export type Wake = (em: SqlEntityManager, queue: string, data: object, afterSeconds: number) => Promise<void>;

/** Everything that is in reach inside one transaction. */
export class Tx {
  readonly #em: SqlEntityManager;
  readonly #wake: Wake;

  constructor(em: SqlEntityManager, wake: Wake) {
    this.#em = em;
    this.#wake = wake;
  }

  get admins() {
    return new Table<identity.AdminRow>(this.#em, identity.AdminEntity);
  }
  get apps() {
    return new Table<identity.ApiAppRow>(this.#em, identity.ApiAppEntity);
  }
  get revokedTokens() {
    return new Table<identity.RevokedTokenRow>(this.#em, identity.RevokedTokenEntity);
  }
  get audit() {
    return new Table<identity.AuditRow>(this.#em, identity.AuditEntity);
  }
  get projects() {
    return new Table<catalog.ProjectRow>(this.#em, catalog.ProjectEntity);
  }
  get users() {
    return new Table<catalog.PayerRow>(this.#em, catalog.PayerEntity);
  }
  get products() {
    return new Table<catalog.ProductRow>(this.#em, catalog.ProductEntity);
  }
  get coins() {
    return new Table<catalog.CoinRow>(this.#em, catalog.CoinEntity);
  }
  get coinAccounts() {
    return new Table<catalog.CoinAccountRow>(this.#em, catalog.CoinAccountEntity);
  }
  get coinEntries() {
    return new Table<catalog.CoinEntryRow>(this.#em, catalog.CoinEntryEntity);
  }
  get coinClawbacks() {
    return new Table<catalog.CoinClawbackRow>(this.#em, catalog.CoinClawbackEntity);
  }
  get channelConfigs() {
    return new Table<credentials.ChannelConfigRow>(this.#em, credentials.ChannelConfigEntity);
  }
  get channelStates() {
    return new Table<credentials.ChannelStateRow>(this.#em, credentials.ChannelStateEntity);
  }
  get certs() {
    return new Table<credentials.CertRow>(this.#em, credentials.CertEntity);
  }
  get signingKeys() {
    return new Table<credentials.SigningKeyRow>(this.#em, credentials.SigningKeyEntity);
  }
  get events() {
    return new Table<events.EventRow>(this.#em, events.EventEntity);
  }
  get webhooks() {
    return new Table<events.WebhookRow>(this.#em, events.WebhookEntity);
  }
  get deliveries() {
    return new Table<events.DeliveryRow>(this.#em, events.DeliveryEntity);
  }
  get deliveryAttempts() {
    return new Table<events.DeliveryAttemptRow>(this.#em, events.DeliveryAttemptEntity);
  }
  get orders() {
    return new Table<orders.OrderRow>(this.#em, orders.OrderEntity);
  }
  get moves() {
    return new Table<orders.MoveRow>(this.#em, orders.MoveEntity);
  }
  get exceptions() {
    return new Table<orders.OrderExceptionRow>(this.#em, orders.OrderExceptionEntity);
  }
  get messages() {
    return new Table<orders.ChannelMessageRow>(this.#em, orders.ChannelMessageEntity);
  }
  get notices() {
    return new Table<orders.NoticeRow>(this.#em, orders.NoticeEntity);
  }
  get keys() {
    return new Table<orders.IdempotencyKeyRow>(this.#em, orders.IdempotencyKeyEntity);
  }
  get refunds() {
    return new Table<RefundRow>(this.#em, RefundEntity);
  }
  get skillOrders() {
    return new Table<SkillOrderRow>(this.#em, SkillOrderEntity);
  }

  /** Runs one SQL statement (`?` placeholders) in this transaction; only `server/db/queries` calls it. */
  async sql<T>(statement: string, parameters: readonly unknown[] = []): Promise<T[]> {
    return (await this.#em.execute(statement, parameters as unknown[], 'all')) as T[];
  }

  /** Like `sql`, for a statement of every request: `?` are bound (an array is one value) and its plan is kept. */
  async prepared<T>(statement: string, parameters: readonly unknown[]): Promise<T[]> {
    return (await run(this.#em, numbered(statement), parameters)).rows as T[];
  }

  /** Runs a part that may fail without taking the transaction with it. */
  async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
    // Of savepoints with one name the innermost counts, which is what nesting needs.
    await run(this.#em, 'savepoint part', []);
    try {
      const result = await part(this);
      await run(this.#em, 'release savepoint part', []);
      return result;
    } catch (error) {
      await run(this.#em, 'rollback to savepoint part', []);
      await run(this.#em, 'release savepoint part', []);
      throw error;
    }
  }

  /** Holds a named lock until the transaction ends. */
  async advisoryLock(name: string): Promise<void> {
    await this.#em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
  }

  /** Enqueues a job that exists only if this transaction commits. */
  async wake(queue: string, data: object, afterSeconds = 0): Promise<void> {
    await this.#wake(this.#em, queue, data, afterSeconds);
  }
}
