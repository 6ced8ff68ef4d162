import type { OtherModeKey } from '../../../server/db/queries/diagnosis.ts';
import type {
  BootstrapPlan,
  DatabaseDescription,
  Examination,
  Offline,
  RestoredFacts,
} from '../../../server/offline/port.ts';

/** An error in the shape of the server's own errors. */
export class FakeFailure extends Error {
  readonly code: string;
  readonly status: number;
  readonly options: { hint?: string; extra?: Record<string, unknown> };

  constructor(code: string, status: number, message: string, extra: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.options = { extra };
  }
}

/** An in-memory database behind the offline port; `closed` counts the calls of close. */
export interface FakeOffline extends Offline {
  admins: { username: string; password: string }[];
  apps: string[];
  /** The name that payers see. */
  merchantName: string | null;
  /** Usernames whose second factor was reset. */
  reset: string[];
  /** The keys of other modes that a distrust finds. */
  distrusted: Omit<OtherModeKey, 'present'>[];
  migrated: number;
  closed: number;
}

const HEALTHY: Examination = {
  debug: false,
  simulated: false,
  production: true,
  publicUrl: 'https://pay.example.com',
  channels: [{ project: 'default', payWay: 'alipay', mode: 'live', enabled: true, missing: [] }],
  otherModes: [],
  certs: [],
  encrypted: { total: 2, underOldKeys: 0, broken: [] },
  uncallable: [],
  openExceptions: 0,
  abnormalRefunds: 0,
  overdueOrders: 0,
  diagnosis: {
    production: true,
    consoleOpen: false,
    explorer: false,
    listensElsewhere: null,
    secondFactors: { required: true, administrators: 1, without: 0 },
    clockAheadSeconds: 0.01,
    failingWebhooks: [],
    approvers: null,
    silentNotices: [],
  },
};

const RESTORED: RestoredFacts = {
  encrypted: HEALTHY.encrypted,
  proofs: [{ check: 'paid', promise: 'what is paid is paid once', ok: true, count: 0, examples: [] }],
  auditLog: { lines: 12, tip: 'a'.repeat(64) },
  sequences: [{ table: 'events', column: 'sequence', sequence: 'public.events_sequence_seq', last: '9', highest: '9' }],
  gaps: [{ table: 'events', missing: '1', first: ['7'] }],
  events: { read: 8, last: '9' },
  newest: { table: 'events', at: '2026-11-21T06:00:00.000Z' },
  future: [],
};

/** Creates a fake database with the given state. */
export function fakeOffline(
  found: Partial<DatabaseDescription['schema']> & {
    admins?: string[];
    apps?: string[];
    merchant?: Awaited<ReturnType<Offline['merchant']>>;
    facts?: Partial<Examination>;
    restored?: Partial<RestoredFacts>;
  } = {},
): FakeOffline {
  const { admins = [], apps = [], version = '0001_begin', pending = 0 } = found;
  const schema = { version, pending, newer: [] as string[] };
  const offline: FakeOffline = {
    admins: admins.map((username) => ({ username, password: 'before' })),
    reset: [],
    distrusted: [],
    apps: [...apps],
    merchantName: found.merchant?.name ?? null,
    migrated: 0,
    closed: 0,
    describeDatabase: async () => ({
      kind: 'embedded',
      place: '/srv/pay/data/pglite',
      name: 'pay',
      schema: { ...schema },
      administrators: schema.version === null ? null : offline.admins.length,
    }),
    async migrate() {
      offline.migrated += 1;
      const applied = Array.from({ length: schema.pending }, (_, index) => `000${index + 1}`);
      Object.assign(schema, { version: '0002_next', pending: 0 });
      return { applied };
    },
    countAdmins: async () => offline.admins.length,
    merchant: async () => ({ ...found.merchant, name: offline.merchantName }),
    nameFault: (name) => (name === '' || name.length > 128 ? 'must have 1 to 128 characters' : undefined),
    async createFirstAdmin({ username, password, merchantName }) {
      if (offline.admins.length > 0)
        throw new FakeFailure('already_bootstrapped', 409, 'An administrator already exists.');
      offline.admins.push({ username, password });
      offline.merchantName = merchantName ?? offline.merchantName;
      return { id: '01935a02-11c7-7d3e-a8b4-6c2f90e1d75a', username, role: 'admin' };
    },
    async resetSecondFactor({ username }) {
      offline.reset.push(username);
      return { id: '01935a02-11c7-7d3e-a8b4-6c2f90e1d75a', username, role: 'admin' };
    },
    distrustOtherModes: async () => ({ keys: offline.distrusted }),
    async createApp({ name, scopes, project = 'default' }) {
      const key = keyOf(name, project);
      if (offline.apps.includes(key)) throw new FakeFailure('already_exists', 409, `There is an app ${name} already.`);
      offline.apps.push(key);
      return appOf(name, scopes, project);
    },
    listApps: async () => offline.apps.map((key) => ({ client_id: 'app_0', ...namesIn(key) })),
    async resetPassword({ username, password }) {
      const admin = offline.admins.find((known) => known.username === username) ?? { username, password };
      admin.password = password;
      return { id: '01935a02-11c7-7d3e-a8b4-6c2f90e1d75a', username, role: 'admin' };
    },
    applyBootstrap: async ({ plan }) => apply(offline, plan),
    rotateMasterKey: async () => ({ keyId: 'ab12cd34', rewrapped: 3 }),
    backup: async () => ({ bytes: 1024 }),
    examine: async () => ({ ...HEALTHY, ...found.facts }),
    checkRestored: async () => ({ ...RESTORED, ...found.restored }),
    async close() {
      offline.closed += 1;
    },
  };
  return offline;
}

function appOf(name: string, scopes: string[], project: string) {
  return {
    client_id: `app_of_${name}`,
    client_secret: 'pays_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v',
    name,
    project,
    scopes,
  };
}

/** A name is unique in its project: `shop` of the default project, `blue/shop` of another one. */
function keyOf(name: string, project: string): string {
  return project === 'default' ? name : `${project}/${name}`;
}

function namesIn(key: string): { name: string; project: string } {
  const [name = '', project = 'default'] = key.split('/').toReversed();
  return { name, project };
}

function apply(offline: FakeOffline, plan: BootstrapPlan) {
  const isNew = plan.admin !== undefined && offline.admins.length === 0;
  if (isNew && plan.admin) offline.admins.push(plan.admin);
  const apps = plan.apps.map(({ name, scopes, project = 'default' }) => {
    const key = keyOf(name, project);
    if (offline.apps.includes(key)) return { created: false as const, client_id: 'app_0', name };
    offline.apps.push(key);
    return { created: true as const, ...appOf(name, scopes, project) };
  });
  const projects = plan.projects.map(({ code, name }) => {
    const changed = code === 'default' && offline.merchantName === null;
    if (changed) offline.merchantName = name;
    return { code, changed };
  });
  return {
    changed: isNew || [...apps.map((app) => app.created), ...projects.map((project) => project.changed)].includes(true),
    admin: plan.admin ? { username: plan.admin.username, created: isNew } : null,
    projects,
    apps,
  };
}
