import type { SqlEntityManager } from '@mikro-orm/postgresql';
import * as catalog from './entities/catalog.ts';
import * as credentials from './entities/credentials.ts';
import * as events from './entities/events.ts';
import * as identity from './entities/identity.ts';
import * as orders from './entities/orders.ts';
import { RefundEntity } from './entities/refunds.ts';
import { SkillOrderEntity } from './entities/skillpay.ts';
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

  get admins() { return new Table(this.#em, identity.AdminEntity); }
  get apps() { return new Table(this.#em, identity.ApiAppEntity); }
  get revokedTokens() { return new Table(this.#em, identity.RevokedTokenEntity); }
  get audit() { return new Table(this.#em, identity.AuditEntity); }
  get projects() { return new Table(this.#em, catalog.ProjectEntity); }
  get users() { return new Table(this.#em, catalog.PayerEntity); }
  get products() { return new Table(this.#em, catalog.ProductEntity); }
  get coins() { return new Table(this.#em, catalog.CoinEntity); }
  get coinAccounts() { return new Table(this.#em, catalog.CoinAccountEntity); }
  get coinEntries() { return new Table(this.#em, catalog.CoinEntryEntity); }
  get channelConfigs() { return new Table(this.#em, credentials.ChannelConfigEntity); }
  get channelStates() { return new Table(this.#em, credentials.ChannelStateEntity); }
  get certs() { return new Table(this.#em, credentials.CertEntity); }
  get signingKeys() { return new Table(this.#em, credentials.SigningKeyEntity); }
  get events() { return new Table(this.#em, events.EventEntity); }
  get webhooks() { return new Table(this.#em, events.WebhookEntity); }
  get deliveries() { return new Table(this.#em, events.DeliveryEntity); }
  get deliveryAttempts() { return new Table(this.#em, events.DeliveryAttemptEntity); }
  get orders() { return new Table(this.#em, orders.OrderEntity); }
  get moves() { return new Table(this.#em, orders.MoveEntity); }
  get exceptions() { return new Table(this.#em, orders.OrderExceptionEntity); }
  get messages() { return new Table(this.#em, orders.ChannelMessageEntity); }
  get notices() { return new Table(this.#em, orders.NoticeEntity); }
  get keys() { return new Table(this.#em, orders.IdempotencyKeyEntity); }
  get refunds() { return new Table(this.#em, RefundEntity); }
  get skillOrders() { return new Table(this.#em, SkillOrderEntity); }

  /** Runs one SQL statement (`?` placeholders) in this transaction; only `server/db/queries` calls it. */
  async sql<T>(statement: string, parameters: readonly unknown[] = []): Promise<T[]> {
    return (await this.#em.execute(statement, parameters as unknown[], 'all')) as T[];
  }

  /** Runs a part that may fail without taking the transaction with it. */
  async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#em.transactional((em) => part(new Tx(em as SqlEntityManager, this.#wake)));
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
