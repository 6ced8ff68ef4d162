import { sql } from 'kysely';
import type { ExecutionContext } from 'ava';
import { PATIENT } from '../support/database.ts';
import { serve } from '../support/free-port.ts';
import { addSkill } from '../support/skillpay.ts';
import { startService, until, type Merchant, type Service, type ServiceOptions } from '../support/service.ts';
import { layStatementCable, type StatementCable } from '../support/statement-cable.ts';

/** Two replicas on one database: one with a faulty cable, and one that prepares and verifies. */
export interface SickStage {
  sick: Service;
  calm: Service;
  cable: StatementCable;
  /** The shop's token is valid at both. */
  shop: Merchant;
  /** The executions of pay-per-call work, by order. */
  executions: Map<string, number>;
}

/** So short that waiting them out is cheap; a slow machine only adds faults. */
export const IMPATIENT = { connect: 700, query: 700, statement: 600, lock: 300, idleInTransaction: 1_000 };

/** How long a paid call waits for its work; broken work blocks until its lease ends, and the merchant's repeats last longer. */
const WORK_MS = 3_000;

/** The initial stock of the product `tea`. */
export const STOCK = 100_000;

/** Starts the stage; only requests of the test reach the sick replica. */
export async function sickStage(t: ExecutionContext, options: ServiceOptions = {}): Promise<SickStage> {
  const env = { PAY_OAUTH_TOKEN_TTL_SECONDS: '86400', PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...options.env };
  // Waits for rows of a dead connection only until the sick replica notices.
  const calm = await startService(t, { env, databaseTimeouts: { ...PATIENT, lock: 8_000 } });
  const cable = await layStatementCable(t, calm.databaseUrl);
  const { simulator, clock } = calm;
  const own = { ...options, env, url: cable.url, simulator, now: clock.now, patience: { work: WORK_MS } };
  const sick = await inSpiteOfBounds('the sick replica has started', () => startService(t, own));
  await inSpiteOfBounds('the sick replica is prepared', () => sick.app.prepare());
  const shop = await calm.merchant();
  const { url, executions } = await startUpstream(t);
  await addSkill(calm, { resource: { handler: 'http', url } });
  const tea = { code: 'tea', kind: 'goods', priceMinor: 1000n, resource: null, stock: STOCK } as const;
  await addSkill(calm, { ...tea, name: 'Tea', payWays: ['alipay', 'wechat'] });
  for (const payWay of ['alipay', 'wechat', 'paypal']) await calm.sim('/sim/notices', { payWay, enabled: false });
  return { sick, calm, cable, shop, executions };
}

/** Short time limits may fire during the setup, which is then repeated. */
async function inSpiteOfBounds<T>(what: string, begin: () => Promise<T>): Promise<T> {
  const { made } = await until(what, async () => {
    try {
      return { made: await begin() };
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      if (code === 'database_unavailable' || /timeout|terminated/i.test(message)) return undefined;
      throw error;
    }
  });
  return made;
}

/** The upstream of a paid call; every execution returns another result, so that a second one would show. */
async function startUpstream(t: ExecutionContext): Promise<{ url: string; executions: Map<string, number> }> {
  const executions = new Map<string, number>();
  const address = await serve(t, (request, response) => {
    const order = String(request.headers['idempotency-key']);
    const nth = (executions.get(order) ?? 0) + 1;
    executions.set(order, nth);
    request.resume();
    response.end(`${order} execution ${nth}`);
  });
  return { url: `${address}/run`, executions };
}

/** Everything that a request about an order, or one with this subject or key, can have changed. */
export async function factsAbout({ calm }: SickStage, subject: string, orderNo = ''): Promise<string> {
  return calm.app.store.read(async (tx) => {
    const of = sql`(select order_no from orders where order_no = ${orderNo} or subject = ${subject})`;
    const [row] = await tx.sql<{ facts: unknown }>`
       select json_build_array(
        (select json_agg(json_build_array(order_no, state, sequence, paid, refunding, refunded, captures, capture_state,
          close_asked, credential is not null) order by order_no) from orders where order_no in ${of}),
        (select json_agg(json_build_array(refund_no, state, tries) order by refund_no) from refunds where order_no in ${of}),
        (select json_agg(json_build_array(order_no, fulfilment, attempts) order by order_no) from skill_orders where order_no in ${of}),
        (select count(*) from transitions where order_no in ${of}),
        (select count(*) from events where object_no in ${of}),
        (select count(*) from idempotency_keys where key = ${subject})) as facts`;
    return JSON.stringify(row?.facts);
  });
}

/** Waits until no transaction of the database is open. */
export async function untilNothingIsOpen({ calm }: SickStage): Promise<void> {
  await until('no transaction is left open', async () => {
    const [row] = await calm.app.store.read(
      (tx) =>
        tx.sql<{ n: number }>`select count(*)::int as n from pg_stat_activity a
          where datname = current_database() and pid <> pg_backend_pid() and (state like 'idle in transaction%'
            or exists (select 1 from pg_locks l where l.pid = a.pid and l.locktype in ('transactionid', 'advisory')))`,
    );
    return row?.n === 0;
  });
}
