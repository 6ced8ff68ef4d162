import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { ChannelConfigRow } from '../../../server/db/entities/credentials.ts';
import type { Store } from '../../../server/db/store.ts';
import { createChannels, type ChannelsParts, type ConfiguredChannels } from '../../../server/credentials/channels.ts';
import { type MasterKey, type Encryption, createEncryption, secretsPlace } from '../../../server/db/encryption.ts';
import {
  ChannelMisconfigured,
  type Channel,
  type ChannelInput,
  type ChannelKind,
  type PayWay,
} from '../../../server/payments/channel.ts';
import { postgresDatabase } from '../../support/database.ts';

/** A new random master key. */
export function newMasterKey(): MasterKey {
  const key = randomBytes(32);
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
}

/** A fake channel that keeps its input. */
export interface MadeChannel extends Channel {
  input: ChannelInput;
}

/** A channel kind with one id, one secret and one key; `answers` are the results of its calls. */
export function fakeKind(payWay: PayWay = 'alipay', made: MadeChannel[] = []): ChannelKind {
  const modes = ['simulator', 'sandbox', 'live'] as const;
  return {
    payWay,
    name: payWay,
    modes,
    scenes: { qr: { type: 'qr', maxSeconds: 7200, needs: [] } },
    defaultScene: 'qr',
    currencies: ['CNY'],
    defaultCurrency: 'CNY',
    limits: {
      minExpirySeconds: 60,
      maxRefundsPerOrder: null,
      refundSpacingSeconds: 0,
      refundWindowDays: 30,
      lateNotificationDays: 365,
      refundResendDays: null,
    },
    fields: [
      { name: 'appId', label: 'App', secret: false, requiredIn: modes, pattern: /^\w{1,32}$/, help: '' },
      { name: 'apiKey', label: 'Key', secret: true, requiredIn: modes, pattern: /^\S{4,64}$/, help: '' },
    ],
    notificationHelp: {
      account: { en: 'app', zh: 'app' },
      signature: { en: 'the field sign', zh: '字段 sign' },
      key: { en: 'the key is that of the app', zh: '密钥属于该应用' },
    },
    certKinds: [],
    accountOf: ({ appId = '' }) => appId,
    registrations: () => [],
    missing: (_mode, fields) => ['appId', 'apiKey'].filter((name) => !fields[name]),
    create(input) {
      if (input.fields.apiKey === 'unusable') throw new ChannelMisconfigured('apiKey', 'apiKey is unusable');
      const unknown = async () => ({ kind: 'unknown', cause: 'timeout' }) as const;
      const channel: MadeChannel = {
        input,
        payWay,
        account: input.fields.appId ?? '',
        place: async () => ({ kind: 'pending' }),
        query: unknown,
        close: unknown,
        refund: unknown,
        queryRefund: unknown,
        lookUpRefund: unknown,
        readNotification: async () => Promise.reject(new Error('no notices')),
        ackNotification: () => ({ status: 200, contentType: 'text/plain', body: 'success' }),
        probe: async () => ({ ok: true }),
      };
      made.push(channel);
      return channel;
    },
  };
}

/** A database with configured channels and a record of the channels built. */
export interface Stage {
  store: Store;
  url: string;
  encryption: Encryption;
  made: MadeChannel[];
  logged: string[];
  clock: { now: Date };
  channels: ConfiguredChannels;
  /** Creates another replica on the same database. */
  replica(parts?: Partial<ChannelsParts>): ConfiguredChannels;
  /** Writes a version and makes it current. */
  write(version: Partial<ChannelConfigRow> & { secrets?: Record<string, string> }): Promise<ChannelConfigRow>;
}

/** Creates the stage on PostgreSQL. */
export async function setStage(t: ExecutionContext, parts: Partial<ChannelsParts> = {}): Promise<Stage> {
  const { store, url } = await postgresDatabase(t, 4);
  const encryption = createEncryption([newMasterKey()]);
  const made: MadeChannel[] = [];
  const logged: string[] = [];
  const clock = { now: new Date('2030-01-01T00:00:00Z') };
  const replica = (more: Partial<ChannelsParts> = {}) =>
    createChannels({
      store,
      decrypt: encryption.open,
      kinds: new Map([['alipay', fakeKind('alipay', made)]]),
      transportTo: () => async () => Promise.reject(new Error('nothing is sent')),
      now: () => clock.now,
      simulatorUrl: null,
      simulated: false,
      log: (_level, message) => void logged.push(message),
      ...parts,
      ...more,
    });
  const channels = replica();
  t.teardown(() => channels.idle());
  return { store, url, encryption, made, logged, clock, channels, replica, write: writer(store, encryption, clock) };
}

function writer(store: Store, encryption: Encryption, clock: { now: Date }): Stage['write'] {
  return async ({ secrets = { apiKey: 'first-key' }, ...version }) => {
    const id = randomUUID();
    const { project = 'default', payWay = 'alipay' } = version;
    return store.transaction(async (tx) => {
      const row: ChannelConfigRow = {
        id,
        project,
        payWay,
        version: (await tx.channelConfigs.count({ project, payWay })) + 1,
        mode: 'live',
        account: 'app-1',
        fields: { appId: version.account ?? 'app-1' },
        encrypted: null,
        fingerprints: {},
        certIds: [],
        missing: [],
        createdBy: 'test',
        createdAt: clock.now,
        ...version,
      };
      row.encrypted = encryption.encrypt(secretsPlace(row), JSON.stringify(secrets));
      await tx.channelConfigs.insert(row);
      const state = { id: randomUUID(), project, payWay, version: row.version, enabled: true, updatedAt: clock.now };
      if (!(await tx.channelStates.insertIfNew(state)))
        await tx.channelStates.update({ project, payWay }, { version: row.version });
      return row;
    });
  };
}
