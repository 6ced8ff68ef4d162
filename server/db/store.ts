import type { EntityName } from '@mikro-orm/core';
import { sql } from 'kysely';
import { AppError, CommitUnknown } from '../errors.ts';
import { inSpan, type SpanAbout } from '../work.ts';
import { camelCase, type Database, type Db, onlyOne, type ReadDb, readingOnly } from './kysely.ts';
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

/** The only door to the data. Inside `transaction` only `tx` is in reach; never await a network call there. */
export interface Store {
  /** Everything in `work` commits or nothing does; throws CommitUnknown when nobody knows which. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads without a transaction; each statement sees the newest committed state. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Runs one statement that commits by itself; a second one is refused. */
  autocommit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Who else hears of writes. */
interface StoreHooks {
  /** A transaction was committed. */
  committed?: () => void;
  /** A write failed. */
  failed?: (error: unknown) => void;
}

const SPAN: SpanAbout = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } };

/** Opens the door; `wake` hears of rows that are due at once, after their commit. */
export function createStore(database: OpenDatabase, wake: AfterCommit, { committed, failed }: StoreHooks = {}): Store {
  const db = database.em.fork({ useContext: false }).getKysely<Database>();
  const layouts = (entity: object) => layoutOf(database.em.getMetadata(entity as EntityName));
  const reader = createReadTx(db, layouts);
  const told = (error: unknown): never => {
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
      ).catch(told);
      committed?.();
      for (const one of wakes) wake(...one);
      return result;
    },
    read: (work) => work(reader),
    // Behind a pooler only a transaction can have limits.
    autocommit: (work) =>
      (database.pooler ? transaction(db, (trx) => single(trx, work)) : single(db, work)).catch(told),
  };
}

/**
 * Kysely's own transaction and not MikroORM's: it costs less, and gives the connection back even when the database went
 * away and nothing can be rolled back any more; MikroORM's would keep it for ever, and ten of them are the whole pool.
 */
async function transaction<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  let failure: { error: unknown } | undefined;
  let isDone = false;
  try {
    const begin = db.transaction().setIsolationLevel('read committed');
    return await begin.execute(async (trx) => {
      const result = await work(trx).catch((error: unknown) => {
        failure = { error };
        throw error;
      });
      isDone = true;
      return result;
    });
  } catch (error) {
    // A rollback that fails as well must not hide why there was one.
    if (failure) throw failure.error;
    throw isDone && !isRefusedCommit(error) ? new CommitUnknown(error) : error;
  }
}

/** PostgreSQL itself said that it did not commit; an error without its code, or of a connection that ends, says nothing. */
function isRefusedCommit(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57P)/.test(code) && code !== 'EPIPE';
}

/** Told what a transaction made due at once: for whom, and the number of the row. */
export type AfterCommit = (by: string, row: object) => void;

/** Every table by its name in a transaction. */
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

/** Everything in reach of a read: no table of it can write, and its statements are refused when they would. A `Tx` is one, too. */
export interface ReadTx extends ReadTables {
  readonly db: ReadDb;
  /** Runs one statement in SQL and gives its rows, columns as properties; a value is bound, a fragment (`sql` of Kysely) is a part of it. */
  sql<T>(text: TemplateStringsArray, ...values: readonly unknown[]): Promise<T[]>;
}

/** Everything that is in reach inside one transaction. */
export interface Tx extends Tables, Pick<ReadTx, 'sql'> {
  readonly db: Db;
  /** Runs a part that may fail without taking the transaction with it. */
  savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T>;
  /** Holds a named lock until the transaction ends. */
  advisoryLock(name: string): Promise<void>;
  /** Has a row that is due now worked straight after the commit, if there is one; the row itself says that it is due. */
  afterCommit(by: string, row: object): Promise<void>;
}

type Layouts = (entity: object) => ReturnType<Place['layoutNamed']>;

function placeOf(db: Db, layouts: Layouts): Place {
  const layoutNamed: Place['layoutNamed'] = (table) => layouts(TABLES[table as keyof Entities]);
  return { db, renaming: db.withPlugin(camelCase), layoutNamed };
}

/** Reads. Statements of `db` and `sql` are checked before they are sent; tables have nothing that writes. */
function createReadTx(plain: Db, layouts: Layouts): ReadTx {
  const place = placeOf(plain, layouts);
  const db = plain.withPlugin(readingOnly).withPlugin(camelCase);
  const tables = new Opened(
    (entity) => new ReadTable({ ...place, renaming: db }, layouts(entity)),
  ) as object as ReadTables;
  return Object.assign(tables, { db }, sqlOver(db));
}

/** Reads and writes; `wake` hears of rows that are due at once. */
function createTx(plain: Db, layouts: Layouts, wake: AfterCommit): Tx {
  const place = placeOf(plain, layouts);
  const db = place.renaming;
  const tables = new Opened((entity) => new Table(place, layouts(entity))) as object as Tables;
  const needTransaction = () => {
    if (!db.isTransaction) throw new TypeError('a savepoint, a lock and work after the commit need a transaction');
  };
  let tell = wake;
  const tx: Tx = Object.assign(tables, sqlOver(db), {
    db,
    async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
      needTransaction();
      // Of savepoints with one name the innermost counts, which is what nesting needs.
      await sql`savepoint part`.execute(db);
      const outer = tell;
      const told: Parameters<AfterCommit>[] = [];
      tell = (...one) => void told.push(one);
      try {
        const result = await part(tx);
        await sql`release savepoint part`.execute(db);
        tell = outer;
        for (const one of told) tell(...one);
        return result;
      } catch (error) {
        // The wakes of a part that is taken back are not told.
        tell = outer;
        try {
          // Two statements: the embedded database takes one in a text.
          await sql`rollback to savepoint part`.execute(db);
          await sql`release savepoint part`.execute(db);
        } catch (end) {
          // The connection is gone: whoever can do without the part must not believe that it goes on.
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
      tell(by, row);
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

/** Has every table as a member that is opened when it is asked for: a transaction needs few of them. */
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
