// The channels of all projects, built from their current configurations. Every channel call is measured, and the
// channel's health is stored.
import {
  type CurrentVersion,
  type HealthNote,
  type IdentityFields,
  type VersionName,
  createCurrentVersions,
  identitiesSince,
  noteHealth,
  versionsOfAccount,
} from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import { AppError } from '../errors.ts';
import {
  type Channel,
  type ChannelInput,
  type ChannelKind,
  ChannelMisconfigured,
  type Download,
  type Mode,
  NotificationNotGenuine,
  type PayWay,
  type ProbeResult,
  type ProbeRequest,
  type Transport,
  type UnknownCause,
} from '../payments/channel.ts';
import type { ActiveChannel, Channels, NotificationChannel } from '../payments/ports.ts';
import { BesideLive } from './live-guard.ts';
import {
  ChannelDisabled,
  ChannelNotConfigured,
  ConfigurationBroken,
  NothingConfigured,
  SimulatorSilent,
} from './errors.ts';
import { DecryptionFailed } from '../db/encryption.ts';
import { type Finder, type Decrypt, buildChannel, readVersion } from './versions.ts';

export interface ChannelsParts {
  store: Store;
  decrypt: Decrypt;
  kinds: ReadonlyMap<PayWay, ChannelKind>;
  transportTo: (payWay: PayWay) => Transport;
  /** Downloads files that channels provide, such as certificates. Absent = files are not downloaded. */
  download?: Download | undefined;
  now: () => Date;
  simulatorUrl: string | null;
  publicUrl?: string | undefined;
  /** Whether the simulator is enabled. If it is disabled, simulator configurations count as missing. */
  simulated: boolean;
  /** If the simulator is enabled: creates the missing simulator configurations of a project. */
  seedProject?: (project: string) => Promise<void>;
  log: HealthPorts['log'];
  called?: Called | undefined;
  /** Stores a certificate that a channel provided and that was verified. */
  keepFound?: (finder: Finder, kind: string, pem: string) => void;
}

export interface ConfiguredChannels extends Channels {
  /** Tests the current configuration, even of a disabled channel. Throws NothingConfigured if none is usable. */
  probe(project: string, payWay: PayWay, request?: ProbeRequest): Promise<ProbeResult>;
  /** Resolves when all pending writes of channel health are done. */
  idle(): Promise<void>;
}

type Version = Pick<VersionName, 'configId' | 'version' | 'trustRevision'>;
type Noted = Pick<HealthNote, 'project' | 'payWay' | 'version'>;

/** Maximum number of channels in the cache. */
const KEPT = 500;

/**
 * The longest time an order can stay open, in days. Alipay allows this time for payments that redirect the payer. The
 * days in which a channel may still send notifications after an order was closed are added to this time.
 */
const LONGEST_ORDER_DAYS = 15;

/** Creates the channels. Each call reads the current configuration version, so all replicas use a change at once. */
export function createChannels(parts: ChannelsParts): ConfiguredChannels {
  const { store, kinds, now, simulated, log } = parts;
  const health = createHealth(parts);
  const built = new Map<string, Promise<Channel>>();

  function kindOf(payWay: PayWay): ChannelKind {
    const kind = kinds.get(payWay);
    if (!kind) throw new ChannelNotConfigured(payWay, 'does not exist');
    return kind;
  }

  /**
   * Returns a channel. Its keys come from the configuration version `keys`. The fields that identify its account come
   * from the configuration version `identity`.
   */
  function channelOf(project: string, payWay: PayWay, keys: Version, identity: Version = keys): Promise<Channel> {
    // The cache key contains the trust revision (a number that increases at each change of trust). So after a key was
    // distrusted, no replica uses a cached channel that still has the key.
    const key = `${keys.configId} ${identity.configId} ${keys.trustRevision}`;
    const known = built.get(key);
    built.delete(key);
    // Health is stored for the version that provides the account fields, so that failures of a former account do not
    // count for the current account.
    const channel = known ?? build({ project, payWay, version: identity.version }, keys, identity);
    built.set(key, channel);
    if (!known) {
      channel.catch(() => built.delete(key));
      const [oldest] = built.keys();
      if (built.size > KEPT && oldest !== undefined) built.delete(oldest);
    }
    return channel;
  }

  async function build(of: Noted, keys: Version, identity: Version): Promise<Channel> {
    const [rows, named] = await store.read(async (tx) => [
      await readVersion(tx, keys.configId),
      identity.configId === keys.configId ? undefined : await tx.channelConfigs.find({ id: identity.configId }),
    ]);
    if (!rows) throw new ChannelNotConfigured(of.payWay);
    try {
      const { project, payWay, mode, account } = rows.config;
      const finder = { project, payWay, mode, account };
      const keep: ChannelInput['keep'] = (kind, pem) => parts.keepFound?.(finder, kind, pem);
      const channel = buildChannel(kindOf(payWay), rows, named ?? rows.config, parts.decrypt, { ...parts, keep });
      return watched(channel, (failure) => health.note(of, failure), parts.called);
    } catch (error) {
      throw translate(error, of);
    }
  }

  function translate(error: unknown, of: Noted): unknown {
    const { project, payWay } = of;
    if (error instanceof DecryptionFailed) {
      log('error', error.message, { project, payWay, why: error.why });
      return new ConfigurationBroken(project, payWay, error);
    }
    if (!(error instanceof ChannelMisconfigured)) return error;
    log('error', error.message, { project, payWay, field: error.field });
    health.note(of, 'misconfigured');
    return new ChannelNotConfigured(payWay, `is misconfigured: ${error.field} is invalid`, error);
  }

  function counts({ mode }: { mode: Mode }): boolean {
    return simulated || mode !== 'simulator';
  }

  const currentOf = createCurrentVersions(store);

  function usable(found: CurrentVersion | undefined): CurrentVersion | undefined {
    return found && counts(found) && found.missing.length === 0 ? found : undefined;
  }

  /** Includes disabled channels. If the simulator is enabled, missing simulator configurations are created first. */
  async function forOrders(project: string, payWays: readonly PayWay[]): Promise<(CurrentVersion | undefined)[]> {
    for (const payWay of payWays) kindOf(payWay);
    let found = await currentOf(project);
    const missing = payWays.find((payWay) => !found.has(payWay));
    if (missing !== undefined && simulated && parts.seedProject) {
      let fault: unknown;
      await parts.seedProject(project).catch((error: unknown) => {
        fault = error;
        log('error', 'the simulator is not available', { project, error });
      });
      found = await currentOf(project);
      // BesideLive is not an error: a database with live orders or configurations gets no simulator configurations.
      if (!found.has(missing) && fault !== undefined && !(fault instanceof BesideLive))
        throw new SimulatorSilent(missing, fault);
    }
    return payWays.map((payWay) => usable(found.get(payWay)));
  }

  async function active(project: string, payWay: PayWay, found: CurrentVersion | undefined): Promise<ActiveChannel> {
    if (!found) throw new ChannelNotConfigured(payWay);
    if (!found.enabled) throw new ChannelDisabled(payWay);
    const { mode, account, version: configVersion } = found;
    return { channel: await channelOf(project, payWay, found), kind: kindOf(payWay), mode, account, configVersion };
  }

  return {
    kindOf,
    idle: () => health.idle(),
    async forNew(project, payWay) {
      const [found] = await forOrders(project, [payWay]);
      return active(project, payWay, found);
    },
    async forNewAmong(project, payWays) {
      const found = await forOrders(project, payWays);
      return Promise.all(
        payWays.map((payWay, at) =>
          active(project, payWay, found[at]).catch((error: unknown) => {
            if (error instanceof AppError) return error;
            throw error;
          }),
        ),
      );
    },
    async forOrder(order) {
      const { project, payWay } = order;
      if (!counts(order))
        throw new ChannelNotConfigured(
          payWay,
          'cannot be used for this simulator order, because the simulator is disabled: set Debug = true, or in staging set Simulator.Url',
        );
      const versions = await store.read((tx) => versionsOfAccount(tx, order, identityFields(kindOf(payWay))));
      const own = versions.find(({ version }) => version === order.configVersion);
      const alike = versions.filter(({ identity }) => identity === own?.identity);
      return firstUsable(waysToBuild(versions, alike), (...pair) => channelOf(project, payWay, ...pair), payWay);
    },
    async forNotifications(project, payWay) {
      const kind = kindOf(payWay);
      const days = kind.limits.lateNotificationDays + LONGEST_ORDER_DAYS;
      const since = new Date(now().getTime() - days * 86_400_000);
      const found = await store.read((tx) =>
        identitiesSince(tx, { project, payWay, since }, identityFields(kind), payeeFields(kind)),
      );
      const identities = found.filter(counts);
      const channels = await Promise.all(
        identities.map(async (identity): Promise<NotificationChannel[]> => {
          const { mode, account, versions, payee } = identity;
          const ofAccount = identities.filter((one) => one.account === account && one.mode === mode);
          const ways = waysToBuild(ofAccount, [identity]);
          // An account whose configuration is broken must not block the notifications of the other accounts.
          const channel = await firstUsable(ways, (...pair) => channelOf(project, payWay, ...pair), payWay).catch(
            onlyRefusals,
          );
          const alike = ofAccount.filter((one) => one.payee === payee).flatMap((one) => one.versions);
          return channel
            ? [{ channel, mode, account, versions: new Set(versions), payeeVersions: new Set(alike) }]
            : [];
        }),
      );
      return channels.flat();
    },
    async probe(project, payWay, request) {
      // A test must not write, so a missing simulator configuration is not created, unlike for new orders.
      const found = usable((await currentOf(project)).get(payWay));
      if (!found) throw new NothingConfigured(payWay);
      try {
        return await (await channelOf(project, payWay, found)).probe(request);
      } catch (error) {
        if (!(error instanceof ChannelNotConfigured) || !(error.cause instanceof ChannelMisconfigured)) throw error;
        return { ok: false, field: error.cause.field, code: 'misconfigured', message: error.cause.message };
      }
    },
  };
}

/**
 * The configuration fields that identify the payee account. An order continues with the values that these fields had
 * when it was created.
 */
function identityFields({ fields }: ChannelKind): IdentityFields {
  return fields.flatMap(({ name, pinned }) =>
    pinned ? [{ name, unless: typeof pinned === 'object' ? pinned.unless : '' }] : [],
  );
}

/** The identity fields without the app id. They identify the payee alone, because every order stores its own app id. */
function payeeFields(kind: ChannelKind): IdentityFields {
  return identityFields({ ...kind, fields: kind.fields.filter(({ pinned }) => pinned !== 'app') });
}

type Way = [keys: VersionName, identity: VersionName];

/**
 * Returns pairs of configuration versions, best pair first. The channel of an order can be built from each pair: the
 * keys come from the first version, and the fields that identify the account come from the second. The best pair is the
 * newest version of the account with the newest version that has the same identifying fields as the order. In every
 * other pair both versions are the same. Both parameters list the newest version first.
 */
function waysToBuild(ofAccount: readonly VersionName[], alike: readonly VersionName[]): Way[] {
  const [newest] = ofAccount;
  const [identity] = alike;
  const ways = alike.map((one): Way => [one, one]);
  return newest && identity && newest !== identity ? [[newest, identity], ...ways] : ways;
}

async function firstUsable(
  ways: readonly Way[],
  build: (...way: Way) => Promise<Channel>,
  payWay: PayWay,
): Promise<Channel> {
  let refusal: AppError | undefined;
  for (const way of ways) {
    try {
      return await build(...way);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refusal = error;
    }
  }
  throw refusal ?? new ChannelNotConfigured(payWay);
}

function onlyRefusals(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error;
  return undefined;
}

/** Health is written at most once in this time (ms) per channel, version and result. */
const NOTE_EVERY_MS = 5000;

export interface HealthPorts {
  store: Store;
  now: () => Date;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
}

interface Health {
  note(version: Pick<HealthNote, 'project' | 'payWay' | 'version'>, failure: UnknownCause | null): void;
  idle(): Promise<void>;
}

/**
 * Channel health is written in the background, at most every few seconds. A failed write never fails the channel call.
 */
function createHealth({ store, now, log }: HealthPorts): Health {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    note(of, failure) {
      const at = now();
      const key = `${of.project} ${of.payWay} ${of.version} ${failure === null}`;
      if (at.getTime() - (noted.get(key) ?? Number.NEGATIVE_INFINITY) < NOTE_EVERY_MS) return;
      noted.set(key, at.getTime());
      const write = store
        .transaction((tx) => noteHealth(tx, { ...of, at, failure }))
        .catch((error: unknown) => log('warn', 'the health of a channel could not be stored', { ...of, error }))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    async idle() {
      await Promise.all(writing);
    },
  };
}

/** `outcome` is the `kind` of the result; `unknown` is followed by its cause, as in `unknown_timeout`. */
export type Called = (call: { payWay: PayWay; call: string; outcome: string; seconds: number }) => void;

/**
 * Causes of an unknown result that say nothing about the channel's health. The response does not belong to the order
 * (`mismatch`), calls are too frequent (`busy`), or the payment is still in progress (`in_progress`).
 */
const HARMLESS: ReadonlySet<UnknownCause> = new Set(['mismatch', 'busy', 'in_progress']);

type Result = { kind: string; cause?: UnknownCause };

/**
 * Wraps a channel. After each call about orders and refunds, `report` receives null if the result was usable, otherwise
 * the cause of the failure. `called` receives the outcome of every call.
 */
export function watched(
  channel: Channel,
  report: (failure: UnknownCause | null) => void,
  called: Called = () => {},
): Channel {
  const { payWay, account, capture, retryAbnormalRefund, appIds, disputes, agents, bills } = channel;

  const count =
    <Args extends readonly unknown[], Answer extends Result>(
      call: string,
      perform: (...args: Args) => Promise<Answer>,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const began = performance.now();
      const finish = (outcome: string) =>
        called({ payWay, call, outcome, seconds: (performance.now() - began) / 1000 });
      try {
        const result = await perform(...args);
        finish(result.kind === 'unknown' ? `unknown_${result.cause}` : result.kind);
        return result;
      } catch (error) {
        finish('thrown');
        throw error;
      }
    };
  const watch = <Args extends readonly unknown[], Answer extends Result>(
    call: string,
    perform: (...args: Args) => Promise<Answer>,
  ) => {
    const counted = count(call, perform);
    return async (...args: Args): Promise<Answer> => {
      const result = await counted(...args);
      if (result.kind !== 'unknown') report(null);
      else if (result.cause !== undefined && !HARMLESS.has(result.cause)) report(result.cause);
      return result;
    };
  };
  return {
    payWay,
    account,
    ...(appIds && { appIds: appIds.bind(channel) }),
    place: watch('place', channel.place.bind(channel)),
    query: watch('query', channel.query.bind(channel)),
    close: watch('close', channel.close.bind(channel)),
    ...(capture && { capture: watch('capture', capture.bind(channel)) }),
    refund: watch('refund', channel.refund.bind(channel)),
    queryRefund: watch('query_refund', channel.queryRefund.bind(channel)),
    lookUpRefund: watch('look_up_refund', channel.lookUpRefund.bind(channel)),
    ...(retryAbnormalRefund && {
      retryAbnormalRefund: watch('retry_abnormal_refund', retryAbnormalRefund.bind(channel)),
    }),
    // Calls about disputes do not change the health: a healthy account may lack the permission to read disputes.
    ...(disputes && {
      disputes: {
        read: count('dispute_read', disputes.read.bind(disputes)),
        list: count('dispute_list', disputes.list.bind(disputes)),
        ...(disputes.listOf && { listOf: count('dispute_list', disputes.listOf.bind(disputes)) }),
        answer: count('dispute_answer', disputes.answer.bind(disputes)),
        ...(disputes.finish && { finish: count('dispute_finish', disputes.finish.bind(disputes)) }),
        ...(disputes.accept && { accept: count('dispute_accept', disputes.accept.bind(disputes)) }),
      },
    }),
    // Calls about payments by agents do not change the health, because a healthy account need not accept such payments.
    ...(agents && {
      agents: {
        bill: agents.bill.bind(agents),
        verify: count('agent_verify', agents.verify.bind(agents)),
        confirm: count('agent_confirm', agents.confirm.bind(agents)),
      },
    }),
    // Downloads of bills do not change the health, because an unavailable bill does not affect payments.
    ...(bills && {
      bills: {
        ...(bills.rate && { rate: bills.rate }),
        fetch: count('bill_fetch', bills.fetch.bind(bills)),
        payeeIn: bills.payeeIn.bind(bills),
        read: bills.read.bind(bills),
      },
    }),
    async readNotification(...notification) {
      try {
        const read = await channel.readNotification(...notification);
        if (read.amiss) report(read.amiss);
        return read;
      } catch (error) {
        if (error instanceof NotificationNotGenuine && error.why === 'chain_incomplete') report(error.why);
        throw error;
      }
    },
    ackNotification: (verdict) => channel.ackNotification(verdict),
    probe: (request) => channel.probe(request),
  };
}
