import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { RequestTime, withinRequestTime } from '../../server/db/pool.ts';
import { identityQueries, type AppState, type AppToken } from '../../server/db/queries/identity.ts';
import { createReadShown, type ShownOrder } from '../../server/db/queries/orders.ts';
import type { Store } from '../../server/db/store.ts';
import { newAppRow, toColumns } from '../../server/identity/api-app-rows.ts';
import { count } from '../support/counts.ts';
import { orderRow, refundRow } from '../support/core-rows.ts';
import { type SharedStatement, watchShared } from './crowd.ts';
import { postgresDatabase } from '../support/database.ts';
import { scenesOnBoth } from './on-both.ts';

const scene = scenesOnBoth('rows of shared statements');

/** Runs each read as a request of its own, all in one turn, and returns the rows and the number of statements. */
async function together<Row>(store: Store, reads: (counted: Pick<Store, 'read'>) => (() => Promise<Row>)[]) {
  let statements = 0;
  const counted: Pick<Store, 'read'> = {
    read: (work) => {
      statements += 1;
      return store.read(work);
    },
  };
  const rows = await Promise.all(reads(counted).map((read) => withinRequestTime(new RequestTime(600_000), read)));
  return { rows, statements };
}

/** The objects that a value contains, at any depth. */
function objectsOf(value: unknown, found: object[] = []): object[] {
  if (typeof value !== 'object' || value === null) return found;
  found.push(value);
  const members = value instanceof Map ? [...value.entries()].flat() : Object.values(value);
  for (const member of members) objectsOf(member, found);
  return found;
}

/** No object may be part of two rows. */
function shareNothing(t: ExecutionContext, rows: readonly unknown[]): void {
  const all = rows.flatMap((row) => objectsOf(row));
  t.is(new Set(all).size, all.length);
}

const appRow = (clientId: string, limits: object) => {
  const settings = { name: clientId, scopes: ['payment:read'], trusted: false, allowedIps: [], rateLimit: null };
  const columns = toColumns({ ...settings, latePayment: null, remark: null });
  const { app } = newAppRow(columns, { project: 'default', at: new Date(), clientId });
  return { ...app, limits } as typeof app;
};

const keptRow = (clientId: string, route: string, key: string) => ({
  scope: `app:${clientId}`,
  route,
  key,
  fingerprint: `${clientId} ${route}`,
  intentNo: null,
  state: 'done' as const,
  leasedUntil: new Date(5),
  status: 201,
  body: `{"of":"${clientId} ${route} ${key}"}`,
  createdAt: new Date(),
});

scene(
  'each request gets the application, the revocation and the stored response of its own token and key',
  async (t, store) => {
    await store.transaction(async (tx) => {
      for (const clientId of ['a', 'b', 'c']) await tx.apps.insert(appRow(clientId, { CNY: { perDay: clientId } }));
      for (const [clientId, route, key] of [
        ['a', 'POST /pay', 'k'],
        ['a', 'POST /refund', 'k'],
        ['a', 'POST /pay', 'l'],
        ['b', 'POST /pay', 'k'],
      ] as const)
        await tx.keys.insert(keptRow(clientId, route, key));
      for (const jti of ['r1', 'r2'])
        await tx.revokedTokens.insert({ jti, owner: 'a', expiresAt: new Date(), revokedAt: new Date() });
    });
    const key = (route: string, text: string) => ({ requestKey: { route, key: text } });
    const asked: [AppToken, { revoked: boolean; body: string | null } | undefined][] = [
      [
        { clientId: 'a', jti: 'j1', ...key('POST /pay', 'k') },
        { revoked: false, body: '{"of":"a POST /pay k"}' },
      ],
      [
        { clientId: 'b', jti: 'j2', ...key('POST /pay', 'k') },
        { revoked: false, body: '{"of":"b POST /pay k"}' },
      ],
      [
        { clientId: 'a', jti: 'r1', ...key('POST /refund', 'k') },
        { revoked: true, body: '{"of":"a POST /refund k"}' },
      ],
      [
        { clientId: 'a', jti: 'j1', ...key('POST /pay', 'k') },
        { revoked: false, body: '{"of":"a POST /pay k"}' },
      ],
      [
        { clientId: 'c', jti: 'j3', ...key('POST /pay', 'k') },
        { revoked: false, body: null },
      ],
      [
        { clientId: 'b', jti: 'r2', ...key('POST /pay', 'l') },
        { revoked: true, body: null },
      ],
      [
        { clientId: 'a', jti: 'j4' },
        { revoked: false, body: null },
      ],
      [{ clientId: 'A', jti: 'j5', ...key('POST /pay', 'k') }, undefined],
      [{ clientId: 'a ', jti: 'j6', ...key('POST /pay', 'k') }, undefined],
      [
        { clientId: 'a', jti: 'R1', ...key('post /pay', 'K') },
        { revoked: false, body: null },
      ],
      [{ clientId: '{a,b}', jti: '"r1",NULL', ...key('POST /pay', `',{}"`) }, undefined],
    ];
    const { rows, statements } = await together(store, (counted) => {
      const { appState } = identityQueries.createAppReads(counted);
      return asked.map(
        ([token]) =>
          () =>
            appState(token),
      );
    });
    t.is(statements, 1);
    for (const [at, [{ clientId }, wanted]] of asked.entries()) {
      const row = rows[at];
      if (!wanted) {
        t.is(row, undefined);
        continue;
      }
      const seen = {
        clientId: row?.clientId,
        limits: row?.limits,
        revoked: row?.revoked,
        body: row?.kept?.body ?? null,
      };
      t.deepEqual(seen, { clientId, limits: { CNY: { perDay: clientId } }, ...wanted } as never);
      if (row?.kept) t.deepEqual(row.kept.leasedUntil, new Date(5));
      // A later request must not see the changes that this request makes to its row.
      const { limits, scopes, latePayment, kept } = row as AppState;
      Object.assign((limits as Record<string, object>)['CNY']!, { perDay: 'changed' });
      Object.assign(latePayment, { afterClose: 'changed' });
      (scopes as string[]).push('admin');
      if (kept) Object.assign(kept, { body: 'changed' });
    }
    shareNothing(t, rows);
  },
);

scene('each request gets its own order with its own refunds', async (t, store) => {
  const numbers = ['o-1', 'o-2', 'o-3'];
  await store.transaction(async (tx) => {
    for (const orderNo of numbers) {
      await tx.orders.insert(
        orderRow({ orderNo, merchantOrderNo: orderNo, clientId: `of ${orderNo}`, subject: orderNo }),
      );
      for (const refundNo of ['b', 'a'])
        await tx.refunds.insert(refundRow({ orderNo, refundNo: `${orderNo}-${refundNo}`, merchantRefundNo: null }));
    }
  });
  const asked = ['o-1', 'o-2', 'o-1', 'O-1', 'o-3', 'o-1', 'o-1 ', '{o-1,o-2}'];
  const { rows, statements } = await together(store, (counted) => {
    const readShown = createReadShown(counted);
    return asked.map((orderNo) => () => readShown(orderNo));
  });
  t.is(statements, 1);
  for (const [at, orderNo] of asked.entries()) {
    const row = rows[at];
    if (!numbers.includes(orderNo)) {
      t.is(row, undefined);
      continue;
    }
    const { order, around } = row as ShownOrder;
    t.is(order.subject, orderNo);
    t.is(order.clientId, `of ${orderNo}`);
    t.is(order.amount, 1000n);
    t.deepEqual(
      around.refunds.map(({ refundNo }) => refundNo),
      [`${orderNo}-a`, `${orderNo}-b`],
    );
    Object.assign(order, { clientId: 'changed' });
    Object.assign(order.latePayment!, { afterClose: 'changed' });
    Object.assign(around.refunds[0]!, { refundNo: 'changed' });
    (around.refunds as unknown[]).pop();
    order.expiresAt.setTime(0);
  }
  shareNothing(t, rows);
});

/** The tables that grow without limit, with the index that a statement may use. */
const KEYS: Record<string, string> = {
  api_apps: 'api_apps_pkey',
  revoked_tokens: 'revoked_tokens_pkey',
  idempotency_keys: 'idempotency_keys_pkey',
  orders: 'orders_pkey',
};

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** The scans of a plan; the index of a bitmap belongs to the scan of the heap above it. */
function scansOf(node: PlanNode, found: { relation: string; index: string | undefined; rows: number }[] = []) {
  const relation = node['Relation Name'];
  const bitmap = node.Plans?.find((plan) => plan['Node Type'] === 'Bitmap Index Scan');
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  if (relation !== undefined) found.push({ relation, index: (bitmap ?? node)['Index Name'], rows });
  for (const plan of node.Plans ?? []) scansOf(plan, found);
  return found;
}

const literal = (value: unknown) => {
  const text = Array.isArray(value) ? `{${value.map((one) => `"${String(one)}"`).join()}}` : String(value);
  return pg.escapeLiteral(text);
};

test('shared statements find their rows by primary key in large tables, also with a generic plan', async (t) => {
  const { store, url } = await postgresDatabase(t, 4, { direct: true });
  const orders = count(100_000, 20_000);
  const apps = count(5_000, 2_000);
  await store.transaction(async (tx) => {
    await tx.apps.insert(appRow('app-0', { CNY: {} }));
    await tx.orders.insert(orderRow({ orderNo: 'o-0', merchantOrderNo: null }));
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  const copy = (table: string, column: string, prefix: string, rows: number) =>
    client.query(`insert into ${table} select copied.* from (select to_jsonb(first) as one from ${table} first) first,
      generate_series(1, ${rows}) n,
      jsonb_populate_record(null::${table}, one || jsonb_build_object('${column}', '${prefix}' || n,
        'created_at', now() - n * interval '1 minute')) copied`);
  await copy('orders', 'order_no', 'o-', orders);
  await copy('api_apps', 'client_id', 'app-', apps);
  await client.query(
    `insert into revoked_tokens (jti, owner, expires_at, revoked_at)
      select 'jti-' || n, 'app-0', now(), now() from generate_series(1, ${orders}) n`,
  );
  await client.query(`insert into idempotency_keys (scope, route, key, fingerprint, state, created_at)
    select 'app:app-' || n % ${apps}, 'POST /api/v2/payment/pay', 'key-' || n, '', 'done', now() from generate_series(1, ${orders}) n`);
  for (const table of Object.keys(KEYS)) await client.query(`vacuum analyze ${table}`);

  const shared = watchShared(t);
  const sent: SharedStatement[] = [];
  shared.onShared((statement) => {
    sent.push(statement);
    return undefined;
  });
  const several = (n: number) => Array.from({ length: n }, (_, at) => at * 7 + 1);
  for (const requests of [1, 24, 100]) {
    sent.length = 0;
    const reads = (counted: Pick<Store, 'read'>): (() => Promise<unknown>)[] => {
      const { appState, clientState } = identityQueries.createAppReads(counted);
      const keyed = identityQueries.createAppReads(counted);
      const readShown = createReadShown(counted);
      return several(requests).flatMap((n) => {
        const token = { clientId: `app-${n}`, jti: `jti-${n}` };
        const requestKey = { route: 'POST /api/v2/payment/pay', key: `key-${n}` };
        return [
          () => appState(token),
          () => keyed.appState({ ...token, requestKey }),
          () => clientState(`app-${n}`),
          () => readShown(`o-${n}`),
        ];
      });
    };
    const { rows, statements } = await together(store, reads);
    t.true(rows.every((row) => row !== undefined));
    t.is(statements, 4);
    t.is(sent.length, 4);
    for (const mode of ['force_custom_plan', 'force_generic_plan'])
      for (const { text, values } of sent) {
        await client.query(`deallocate all; set plan_cache_mode = ${mode}`);
        await client.query(`prepare shared as ${text}`);
        const { rows: explained } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `explain (analyze, format json) execute shared(${values.map(literal).join()})`,
        );
        const scans = scansOf(explained[0]!['QUERY PLAN'][0].Plan).filter(({ relation }) => relation in KEYS);
        t.true(scans.length > 0);
        for (const { relation, index, rows: touched } of scans) {
          const what = `${mode}, ${requests} requests: ${relation} by ${index}, ${touched} rows`;
          t.is(index, KEYS[relation], what);
          t.true(touched <= requests, what);
        }
      }
  }
});
