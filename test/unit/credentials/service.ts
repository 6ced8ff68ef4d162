import { sql } from 'kysely';
import type { ExecutionContext } from 'ava';
import { CHANNEL_KINDS, channelSerial } from '../../../server/channels/registry.ts';
import { createTransport } from '../../../server/channels/transport.ts';
import type { Certs } from '../../../server/credentials/certs.ts';
import type { ConfiguredChannels } from '../../../server/credentials/channels.ts';
import type { ChannelConfigs } from '../../../server/credentials/configs.ts';
import type { CredentialPorts } from '../../../server/credentials/ports.ts';
import type { MasterKey } from '../../../server/db/encryption.ts';
import { createCredentials } from '../../../server/credentials/credentials.ts';
import { Unauthenticated } from '../../../server/errors.ts';
import type { Authenticators } from '../../../server/http/contract.ts';
import { createAudit, deriveAuditKey } from '../../../server/identity/audit.ts';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { Store } from '../../../server/db/store.ts';
import { channelConfigRoutes, ownChannelConfigRoutes, paymentChannelRoutes } from '../../../server/routes/channels.ts';
import { certRoutes, ownCertRoutes } from '../../../server/routes/certs.ts';
import { postgresDatabase, type TestDatabase } from '../../support/database.ts';
import { checkAnswersOf, requireDeclared } from '../../support/documented.ts';
import { startEdge } from '../../support/edge.ts';
import { newMasterKey } from './stage.ts';

/** A response of the service. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // Tests read responses of every shape and assert their contents.
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  body: any;
}

/** The credentials service behind real HTTP, with fixed tokens: `root`, `viewer`, `app:<project>:<scopes>`. */
export interface Service {
  store: Store;
  on: TestDatabase;
  ports: CredentialPorts;
  masterKeys: MasterKey[];
  channels: ConfiguredChannels;
  configs: ChannelConfigs;
  certs: Certs;
  url: string;
  call(method: string, path: string, options?: { token?: string; body?: unknown }): Promise<Answer>;
  /** Returns every row of every table as text. */
  dump(): Promise<string>;
}

/** Starts the service on a new database or on an existing one. */
export async function startService(
  t: Pick<ExecutionContext, 'teardown'>,
  options: {
    on?: TestDatabase;
    masterKeys?: MasterKey[];
    debug?: boolean;
    environment?: CredentialPorts['purpose']['environment'];
    simulatorUrl?: string;
    now?: () => Date;
  } = {},
): Promise<Service> {
  const { debug = false, environment = 'development', simulatorUrl = null, now = () => new Date() } = options;
  const on = options.on ?? (await postgresDatabase(t));
  const { store } = on;
  const masterKeys = options.masterKeys ?? [newMasterKey()];
  const send = createTransport({ timeoutMs: 20_000 });
  const audit = createAudit({ now, key: deriveAuditKey(masterKeys[0]!) });
  const parts = {
    store,
    kinds: CHANNEL_KINDS,
    audit,
    serialOf: channelSerial,
    transportTo: () => send,
    now,
    simulatorUrl,
    simulated: debug || (environment === 'staging' && simulatorUrl !== null),
    purpose: { debug, environment },
  };
  const credentials = createCredentials({ ...parts, masterKeys, log: () => {} });
  const { channels, configs, certs, encryption } = credentials;
  const ports: CredentialPorts = { ...parts, encryption };
  t.teardown(() => channels.idle());
  for (const code of ['default', 'other']) {
    const at = now();
    await store.transaction((tx) =>
      tx.projects.insertIfNew({ code, name: code, enabled: true, remark: null, createdAt: at, updatedAt: at }),
    );
  }
  const groups = [
    paymentChannelRoutes(credentials),
    channelConfigRoutes({ configs, now }),
    ownChannelConfigRoutes({ configs, now }),
    certRoutes({ certs, now }),
    ownCertRoutes({ certs, now }),
  ];
  const { url } = await startEdge(t, { groups, authenticators });
  checkAnswersOf(url);
  return { store, on, ports, masterKeys, channels, configs, certs, url, call: caller(url), dump: () => dumpOf(store) };
}

/** Inserts an Alipay order that waits for its payer. */
export async function insertOrder(store: Store, order: Partial<OrderRow>): Promise<void> {
  const at = new Date();
  await store.transaction((tx) =>
    tx.orders.insert({
      orderNo: 'P1',
      kind: 'payment',
      clientId: 'app_1',
      project: 'default',
      mode: 'sandbox',
      payWay: 'alipay',
      account: '2021000000000001',
      configVersion: 1,
      scene: 'qr',
      subject: 'tea',
      amount: 100n,
      currency: 'CNY',
      factsHash: 'x',
      stockHeld: false,
      effectsDue: false,
      latePayment: 'expiry',
      state: 'pending',
      closeAsked: false,
      closeAnswered: false,
      paid: 0n,
      refunded: 0n,
      refunding: 0n,
      overrun: 0n,
      sequence: 1,
      placeTries: 1,
      absentCount: 0,
      captures: 0,
      checks: 0,
      nextCheckAt: at,
      createdAt: at,
      sentAt: at,
      expiresAt: at,
      ...order,
    }),
  );
}

function caller(url: string): Service['call'] {
  return async (method, path, { token = 'root', body } = {}) => {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    const isForm = body instanceof FormData;
    if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
    const sent = isForm ? body : body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(url + path, { method, headers, body: sent });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json');
    const read = isJson ? JSON.parse(text) : text;
    await requireDeclared(method, path, read);
    return { status: answer.status, headers: answer.headers, text, body: read };
  };
}

async function dumpOf(store: Store): Promise<string> {
  return store.read(async (tx) => {
    const tables = await tx.sql<{
      name: string;
    }>`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
    const texts: string[] = [];
    for (const { name } of tables) {
      const rows = await tx.sql<{ row: string }>`select row_to_json(t)::text as row from "${sql.raw(name)}" t`;
      texts.push(...rows.map(({ row }) => `${name} ${row}`));
    }
    return texts.join('\n');
  });
}

const authenticators: Authenticators = {
  async admin({ token, via }) {
    if (token !== 'root' && token !== 'viewer') throw new Unauthenticated();
    const role = token === 'root' ? 'admin' : 'viewer';
    return {
      kind: 'admin',
      id: token,
      username: token,
      role,
      projects: null,
      secondFactor: 'none',
      jti: token,
      via,
      confirmed: { always: true, 'where-live': true },
    };
  },
  async app(token) {
    const [, project, scopes] = /^app:([\w-]+):(.+)$/.exec(token) ?? [];
    if (!project || !scopes) throw new Unauthenticated();
    return { kind: 'app', clientId: `app_${project}`, name: project, project, scopes: new Set(scopes.split(',')) };
  },
  csrfMatches: () => false,
  noteUnconfirmed: async () => {},
};
