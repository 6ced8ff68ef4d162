import type { EntityName } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { AppError, CommitUnknown } from '../errors.ts';
import { inSpan, type SpanAbout } from '../tracing.ts';
import type { OpenDatabase } from './orm.ts';
import { layoutOf, type Ran, ReadTable, type Statements, Table } from './table.ts';
import { ApprovalEntity, DisputeEntity, RefundEntity, RefundQuestionEntity } from './entities/refunds.ts';
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
interface StoreEars {
  /** A transaction was committed. */
  committed?: () => void;
  /** A write failed. */
  failed?: (error: unknown) => void;
}

const SPAN: SpanAbout = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } };

/** Opens the door; `wake` hears of rows that are due at once, after their commit. */
export function createStore(database: OpenDatabase, wake: Wake, { committed, failed }: StoreEars = {}): Store {
  const alone = createStatements(database.em.fork({ useContext: false }));
  const reader = createReadTx(alone);
  const told = (error: unknown): never => {
    failed?.(error);
    throw error;
  };
  return {
    async transaction(work) {
      const wakes: Parameters<Wake>[] = [];
      const result = await inSpan('transaction', SPAN, () =>
        transaction(database, (em) => work(createTx(createStatements(em), (...one) => void wakes.push(one)))),
      ).catch(told);
      committed?.();
      for (const one of wakes) wake(...one);
      return result;
    },
    read: (work) => work(reader),
    // Behind a pooler only a transaction can have limits.
    autocommit: (work) =>
      (database.pooler
        ? transaction(database, (em) => work(createTx(createSingle(createStatements(em)), () => {})))
        : work(createTx(createSingle(alone), () => {}))
      ).catch(told),
  };
}

/**
 * Kysely's own transaction and not MikroORM's: it costs less, and gives the connection back even when the database went
 * away and nothing can be rolled back any more; MikroORM's would keep it for ever, and ten of them are the whole pool.
 */
async function transaction<T>({ em }: OpenDatabase, work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
  const own = em.fork({ useContext: false });
  const begin = own.getKysely().transaction().setIsolationLevel('read committed');
  let failure: { error: unknown } | undefined;
  let isDone = false;
  try {
    return await begin.execute(async (trx) => {
      own.setTransactionContext(trx);
      const result = await work(own).catch((error: unknown) => {
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

/** The statements of an entity manager. */
function createStatements(em: SqlEntityManager): Statements {
  return {
    inTransaction: em.isInTransaction(),
    run: (text, values) => run(em, text, values),
    runWritten: (text, values) => em.execute(text, values as unknown[], 'all'),
    layoutOf: (entity) => layoutOf(em.getMetadata(entity as EntityName)),
    layoutNamed: (table) => layoutOf(em.getMetadata(TABLES[table as keyof Entities] as EntityName)),
  };
}

/** Refuses a second statement: it would not commit together with the first. */
function createSingle(statements: Statements): Statements {
  let used = false;
  const once = async <T>(statement: () => Promise<T>): Promise<T> => {
    if (used) throw new TypeError('autocommit is for one statement; several need a transaction');
    used = true;
    return statement();
  };
  return {
    ...statements,
    run: (...words) => once(() => statements.run(...words)),
    runWritten: (...words) => once(() => statements.runWritten(...words)),
  };
}

/** Runs one statement with bound values in the transaction of `em`, or alone without one. */
export async function run(em: SqlEntityManager, text: string, values: readonly unknown[]): Promise<Ran> {
  // MikroORM writes values into the text of a statement, so no two are alike; Kysely below it binds them.
  try {
    const { rows, numAffectedRows } = await em.getKysely().executeQuery(CompiledQuery.raw(text, [...values]));
    return { rows: rows as Ran['rows'], affected: Number(numAffectedRows ?? 0) };
  } catch (error) {
    throw em
      .getPlatform()
      .getExceptionConverter()
      .convertException(error as Error);
  }
}

/** Told what a transaction made due at once: for whom, and the number of the row. */
export type Wake = (by: string, row: object) => void;

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
  moves: orders.MoveEntity,
  exceptions: orders.OrderExceptionEntity,
  messages: orders.ChannelMessageEntity,
  notices: orders.NoticeEntity,
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
  refundQuestions: RefundQuestionEntity,
  approvals: ApprovalEntity,
  removedOrders: RemovedOrdersEntity,
  replicas: ReplicaEntity,
  coinCalls: CoinCallEntity,
  skillOrders: SkillOrderEntity,
  agentPays: AgentPayEntity,
};

type Entities = typeof TABLES;
type ReadTables = { readonly [Name in keyof Entities]: ReadTable<RowOf<Entities[Name]>> };
type Tables = { readonly [Name in keyof Entities]: Table<RowOf<Entities[Name]>> };

interface Sql {
  /** Runs one SQL statement (`?` placeholders); only `server/db/queries` calls it. */
  sql<T>(statement: string, parameters?: readonly unknown[]): Promise<T[]>;
  /** Like `sql`, for a statement of every request: `?` are bound (an array is one value) and its plan is kept. */
  prepared<T>(statement: string, parameters: readonly unknown[]): Promise<T[]>;
}

/** What is in reach of a read: no table of it can write, and its SQL is refused when it would. A `Tx` is one, too. */
export interface ReadTx extends ReadTables, Sql {}

/** Everything that is in reach inside one transaction. */
export interface Tx extends Tables, Sql {
  /** Runs a part that may fail without taking the transaction with it. */
  savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T>;
  /** Holds a named lock until the transaction ends. */
  advisoryLock(name: string): Promise<void>;
  /** Has a row that is due now worked straight after the commit, if there is one; the row itself says that it is due. */
  wake(by: string, row: object): Promise<void>;
}

/** What reads over `statements`. */
function createReadTx(statements: Statements): ReadTx {
  const tables = new Opened((entity) => new ReadTable(statements, entity)) as object as ReadTables;
  return Object.assign(tables, sqlOver(statements, readingOnly));
}

/** What reads and writes over `statements`; `wake` hears of rows that are due at once. */
function createTx(statements: Statements, wake: Wake): Tx {
  const tables = new Opened((entity) => new Table(statements, entity)) as object as Tables;
  const needTransaction = () => {
    if (!statements.inTransaction) throw new TypeError('a savepoint, a lock and a wake need a transaction');
  };
  let tell = wake;
  const tx: Tx = Object.assign(tables, sqlOver(statements), {
    async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
      needTransaction();
      // Of savepoints with one name the innermost counts, which is what nesting needs.
      await statements.run('savepoint part', []);
      const outer = tell;
      const told: Parameters<Wake>[] = [];
      tell = (...one) => void told.push(one);
      try {
        const result = await part(tx);
        await statements.run('release savepoint part', []);
        tell = outer;
        for (const one of told) tell(...one);
        return result;
      } catch (error) {
        // The wakes of a part that is taken back are not told.
        tell = outer;
        try {
          await statements.run('rollback to savepoint part', []);
          await statements.run('release savepoint part', []);
        } catch (end) {
          // The connection is gone: whoever can do without the part must not believe that it goes on.
          throw error instanceof AppError ? end : error;
        }
        throw error;
      }
    },
    async advisoryLock(name: string): Promise<void> {
      needTransaction();
      await statements.runWritten('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
    },
    async wake(by: string, row: object): Promise<void> {
      needTransaction();
      tell(by, row);
    },
  });
  return tx;
}

function sqlOver(statements: Statements, checked: (text: string) => string = (text) => text): Sql {
  return {
    async sql<T>(statement: string, parameters: readonly unknown[] = []) {
      return (await statements.runWritten(checked(statement), parameters)) as T[];
    },
    async prepared<T>(statement: string, parameters: readonly unknown[]) {
      return (await statements.run(numbered(checked(statement)), parameters)).rows as T[];
    },
  };
}

const numberedTexts = new Map<string, string>();

/** `?` as `$1`, `$2` …; for texts that are written in the source, never put together from values. */
function numbered(text: string): string {
  let known = numberedTexts.get(text);
  if (known === undefined) {
    let at = 0;
    numberedTexts.set(text, (known = text.replaceAll('?', () => `$${(at += 1)}`)));
  }
  return known;
}

/** Words by which a statement writes, locks or takes a number. */
const WRITES =
  /\b(insert|update|delete|merge|into|truncate|nextval|setval|set_config|pg_(try_)?advisory_\w+|for\s+(key\s+)?share)\b/i;

/** Gives the text back when it only reads. Types come first: this stands behind them, for texts that they cannot see. */
function readingOnly(text: string): string {
  if (!/^\s*(select|with|explain)\b/i.test(text) || WRITES.test(text))
    throw new TypeError('store.read only reads; a statement that writes or locks needs autocommit or a transaction');
  return text;
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
