import type { EntityName } from '@mikro-orm/core';
import { sql } from 'kysely';
import { AppError, CommitUnknown } from '../errors.ts';
import { inSpan, type SpanAbout } from '../work.ts';
import { camelCase, type Database, type Db, onlyOne, type ReadDb, readingOnly, transact } from './kysely.ts';
import type { OpenDatabase } from './orm.ts';
import { layoutOf, type Place, ReadTable, Table } from './table.ts';
import { ApprovalEntity, DisputeEntity, RefundEntity, RefundLookupEntity } from './entities/refunds.ts';
import * as bills from './entities/bills.ts';
import * as catalog from './entities/catalog.ts';
import type { RowOf } from './entities/columns.ts';
import * as orders from './entities/orders.ts';
import { DueEffectEntity, RemovedOrdersEntity } from './entities/orders.ts';
import * as credentials from './entities/credentials.ts';
import * as events from './entities/events.ts';
import * as identity from './entities/identity.ts';
import { ReplicaEntity } from './entities/service.ts';
import { AgentPayEntity, CoinCallEntity, SkillOrderEntity } from './entities/skillpay.ts';

/** The only access to stored data. Code inside `transaction` uses only `tx` and never waits for a network call. */
export interface Store {
  /** Commits all changes of `work` or none. Throws CommitUnknown if it is unknown whether the commit succeeded. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads without a transaction; each statement sees the newest committed state. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Runs one statement and commits it. A second statement throws. */
  autocommit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

interface StoreHooks {
  committed?: () => void;
  failed?: (error: unknown) => void;
}

const SPAN: SpanAbout = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } };

/** Creates the store. After a commit, `wake` is called for each row that the transaction has made due immediately. */
export function createStore(database: OpenDatabase, wake: AfterCommit, { committed, failed }: StoreHooks = {}): Store {
  const db = database.em.fork({ useContext: false }).getKysely<Database>();
  const layouts = (entity: object) => layoutOf(database.em.getMetadata(entity as EntityName));
  const reader = createReadTx(db, layouts);
  const reportFailure = (error: unknown): never => {
    failed?.(error);
    throw error;
  };
  const single = <T>(on: Db, work: (tx: Tx) => Promise<T>) =>
    work(createTx(on.withPlugin(onlyOne()), layouts, () => {}));
  return {
    async transaction(work) {
      const wakes: Parameters<AfterCommit>[] = [];
      const result = await inSpan('transaction', SPAN, () =>
        transaction(db, (trx) => work(createTx(trx, layouts, (...one) => void wakes.push(one)))),
      ).catch(reportFailure);
      committed?.();
      for (const one of wakes) wake(...one);
      return result;
    },
    read: (work) => work(reader),
    // Behind a connection pooler, the time limits of a statement can be set only inside a transaction, so a transaction
    // is used even for one statement.
    autocommit: (work) =>
      (database.pooler ? transaction(db, (trx) => single(trx, work)) : single(db, work)).catch(reportFailure),
  };
}

/**
 * Uses Kysely's transaction, which is cheaper than MikroORM's. If the database is unreachable, the rollback fails too.
 * Kysely then releases the connection. MikroORM would keep it, and ten such connections exhaust the pool.
 */
async function transaction<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  let isDone = false;
  try {
    return await transact(db.transaction().setIsolationLevel('read committed'), async (trx) => {
      const result = await work(trx);
      isDone = true;
      return result;
    });
  } catch (error) {
    throw isDone && !isRefusedCommit(error) ? new CommitUnknown(error) : error;
  }
}

/**
 * Whether PostgreSQL has reported that it did not commit. The result of a commit is unknown if the error has no
 * PostgreSQL code. It is also unknown if the code means that the connection was closed.
 */
function isRefusedCommit(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57P)/.test(code) && code !== 'EPIPE';
}

/** Called after a commit for a row that has become due immediately; `by` is the kind of work (`DueKind.wokenBy`). */
export type AfterCommit = (by: string, row: object) => void;

/** The entity of each table. The property name is the name of the table in a `Tx`. */
const TABLES = {
  admins: identity.AdminEntity,
  apps: identity.ApiAppEntity,
  knownAddresses: identity.KnownAddressEntity,
  sessions: identity.SessionEntity,
  secondFactors: identity.SecondFactorEntity,
  recoveryCodes: identity.RecoveryCodeEntity,
  revokedTokens: identity.RevokedTokenEntity,
  limitUses: identity.LimitUseEntity,
  audit: identity.AuditEntity,
  auditKeys: identity.AuditKeyEntity,
  projects: catalog.ProjectEntity,
  users: catalog.PayerEntity,
  products: catalog.ProductEntity,
  coins: catalog.CoinEntity,
  coinAccounts: catalog.CoinAccountEntity,
  coinEntries: catalog.CoinEntryEntity,
  coinClawbacks: catalog.CoinClawbackEntity,
  channelConfigs: credentials.ChannelConfigEntity,
  channelStates: credentials.ChannelStateEntity,
  certs: credentials.CertEntity,
  signingKeys: credentials.SigningKeyEntity,
  events: events.EventEntity,
  webhooks: events.WebhookEntity,
  deliveries: events.DeliveryEntity,
  deliveryAttempts: events.DeliveryAttemptEntity,
  orders: orders.OrderEntity,
  transitions: orders.TransitionEntity,
  exceptions: orders.OrderExceptionEntity,
  messages: orders.ChannelMessageEntity,
  notifications: orders.NotificationEntity,
  disputes: DisputeEntity,
  dueEffects: DueEffectEntity,
  bills: bills.BillEntity,
  billLines: bills.BillLineEntity,
  billDifferences: bills.BillDifferenceEntity,
  payees: bills.PayeeEntity,
  orderFees: bills.OrderFeeEntity,
  quietAccounts: bills.QuietAccountEntity,
  keys: orders.IdempotencyKeyEntity,
  refunds: RefundEntity,
  refundLookups: RefundLookupEntity,
  approvals: ApprovalEntity,
  removedOrders: RemovedOrdersEntity,
  replicas: ReplicaEntity,
  coinCalls: CoinCallEntity,
  skillOrders: SkillOrderEntity,
  agentPays: AgentPayEntity,
};

type Entities = typeof TABLES;
type TableOf<Entity> = Entity extends { tableName?: infer Name } ? Extract<Name, keyof Database> : never;
type ReadTables = { readonly [Name in keyof Entities]: ReadTable<RowOf<Entities[Name]>, TableOf<Entities[Name]>> };
type Tables = { readonly [Name in keyof Entities]: Table<RowOf<Entities[Name]>, TableOf<Entities[Name]>> };

/** Read access: its tables have no write functions, and SQL that writes throws. A `Tx` is also a `ReadTx`. */
export interface ReadTx extends ReadTables {
  readonly db: ReadDb;
  /**
   * Runs one SQL statement and returns its rows; columns become properties in camel case. Values are bound as
   * parameters, and fragments of Kysely's `sql` are inserted.
   */
  sql<T>(text: TemplateStringsArray, ...values: readonly unknown[]): Promise<T[]>;
}

export interface Tx extends Tables, Pick<ReadTx, 'sql'> {
  readonly db: Db;
  /** Runs a part of the transaction. If the part fails, only the part is rolled back. */
  savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T>;
  /** Waits for a named lock, and holds it until the transaction ends. */
  advisoryLock(name: string): Promise<void>;
  /** After the commit, wakes the scheduler for a due row. If the process crashes before, the row is found later. */
  afterCommit(by: string, row: object): Promise<void>;
}

type Layouts = (entity: object) => ReturnType<Place['layoutNamed']>;

function placeOf(db: Db, layouts: Layouts): Place {
  const layoutNamed: Place['layoutNamed'] = (table) => layouts(TABLES[table as keyof Entities]);
  return { db, renaming: db.withPlugin(camelCase), layoutNamed };
}

/**
 * Statements that the caller builds with `db` or `sql` are checked before they are sent. A statement that writes
 * throws.
 */
function createReadTx(plain: Db, layouts: Layouts): ReadTx {
  const place = placeOf(plain, layouts);
  const db = plain.withPlugin(readingOnly).withPlugin(camelCase);
  const tables = new Opened(
    (entity) => new ReadTable({ ...place, renaming: db }, layouts(entity)),
  ) as object as ReadTables;
  return Object.assign(tables, { db }, sqlOver(db));
}

function createTx(plain: Db, layouts: Layouts, wake: AfterCommit): Tx {
  const place = placeOf(plain, layouts);
  const db = place.renaming;
  const tables = new Opened((entity) => new Table(place, layouts(entity))) as object as Tables;
  const needTransaction = () => {
    if (!db.isTransaction)
      throw new TypeError('savepoint, advisoryLock and afterCommit work only inside store.transaction.');
  };
  let collect = wake;
  const tx: Tx = Object.assign(tables, sqlOver(db), {
    db,
    async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
      needTransaction();
      // Nested savepoints may have the same name, because PostgreSQL uses the innermost savepoint.
      await sql`savepoint part`.execute(db);
      const outer = collect;
      const wakes: Parameters<AfterCommit>[] = [];
      collect = (...one) => void wakes.push(one);
      try {
        const result = await part(tx);
        await sql`release savepoint part`.execute(db);
        collect = outer;
        for (const one of wakes) collect(...one);
        return result;
      } catch (error) {
        // The work inside the savepoint was rolled back, so the scheduler must not be told about rows that it made due.
        collect = outer;
        try {
          // Two separate calls are needed, because the embedded database accepts only one statement per call.
          await sql`rollback to savepoint part`.execute(db);
          await sql`release savepoint part`.execute(db);
        } catch (end) {
          // The rollback failed, so the connection is lost. If the original error is an AppError, the connection error
          // is thrown instead of it: a caller that handles an AppError would otherwise continue the transaction.
          throw error instanceof AppError ? end : error;
        }
        throw error;
      }
    },
    async advisoryLock(name: string): Promise<void> {
      needTransaction();
      await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
    },
    async afterCommit(by: string, row: object): Promise<void> {
      needTransaction();
      collect(by, row);
    },
  });
  return tx;
}

function sqlOver(db: Db): Pick<ReadTx, 'sql'> {
  return {
    async sql<T>(text: TemplateStringsArray, ...values: readonly unknown[]): Promise<T[]> {
      return (await sql<T>(text, ...values).execute(db)).rows;
    },
  };
}

/** The access object of a table is created on first use, because a transaction uses only a few tables. */
class Opened {
  readonly #open: (entity: object) => unknown;

  static {
    for (const [name, entity] of Object.entries(TABLES))
      Object.defineProperty(this.prototype, name, {
        get(this: Opened) {
          return this.#open(entity);
        },
      });
  }

  constructor(open: (entity: object) => unknown) {
    this.#open = open;
  }
}
