// The status of channels, certificates that expire soon, and the results of the last notifications of each channel.
import type { ChannelStateRow } from '../db/entities/credentials.ts';
import { channelStates, endingCerts, noteNotification, noteRefusedNotifications } from '../db/queries/credentials.ts';
import type { ReadTx, Store } from '../db/store.ts';
import type { Mode, PayWay } from '../payments/channel.ts';
import { type NotificationRefusal, SIGNED } from '../payments/notification-refusal.ts';
import type { HealthPorts } from './channels.ts';
import { isRoot } from './pem.ts';
import type { CredentialPorts } from './ports.ts';
import { DecryptionFailed } from '../db/encryption.ts';
import { verifyingKinds } from './trust.ts';
import { type Decrypt, type VersionRows, openSecrets, pemsOf, readVersion } from './versions.ts';

/**
 * The status of a channel. `degraded` = new orders are possible, but there is a problem (a failed call, a certificate
 * that expires soon, an untrusted key). `down` = the last calls failed, or the secrets cannot be decrypted.
 */
export type ChannelStatus = 'up' | 'degraded' | 'down' | 'disabled' | 'unconfigured';

/** A certificate that expires within these days makes its channel `degraded`. */
const EXPIRY_DAYS = 30;

const DAY = 86_400_000;
/** A later failed call makes a channel `degraded` instead of `down` if the last success is at most this old (ms). */
const FRESH = 60_000;
/** A failed call makes a channel `down` for at most this time (ms); then it is `degraded` until a call succeeds. */
const REMEMBERED = 600_000;

/** The data of a channel that is shown without authentication. */
export interface PublicChannel {
  payWay: PayWay;
  name: string;
  enabled: boolean;
  configured: boolean;
  mode: Mode | null;
  status: ChannelStatus;
  lastSuccessAt: Date | null;
}

/**
 * Returns the status of a channel. It depends on the last successful and the last failed call, on the expiry of
 * certificates, and on keys that wait for trust.
 */
export function statusOf(
  state: Pick<ChannelStateRow, 'enabled' | 'lastSuccessAt' | 'lastFailureAt' | 'certsExpireAt'> & {
    configured: boolean;
    awaitsTrust?: boolean;
    isUndecryptable?: boolean;
  },
  now: Date,
): ChannelStatus {
  if (!state.configured) return 'unconfigured';
  if (!state.enabled) return 'disabled';
  if (state.isUndecryptable) return 'down';
  const sinceSuccess = now.getTime() - (state.lastSuccessAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  const sinceFailure = now.getTime() - (state.lastFailureAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  const failing = sinceFailure < sinceSuccess;
  if (failing && sinceFailure < REMEMBERED && sinceSuccess > FRESH) return 'down';
  if (failing || sinceFailure < FRESH || state.awaitsTrust) return 'degraded';
  const ends = state.certsExpireAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return ends - now.getTime() < EXPIRY_DAYS * DAY ? 'degraded' : 'up';
}

/**
 * Returns the status of every channel. The result contains no ids and no error texts, because it is shown without
 * authentication.
 */
export async function publicChannels(
  {
    store,
    kinds,
    simulated,
    now,
    encryption,
  }: Pick<CredentialPorts, 'store' | 'kinds' | 'simulated' | 'now' | 'encryption'>,
  project = 'default',
): Promise<PublicChannel[]> {
  const verifying = [...kinds.values()].flatMap((kind) => [...verifyingKinds(kind)]);
  const states = await store.read(async (tx) => {
    const found = await channelStates(tx, project, verifying);
    return Promise.all(
      found.map(async (state) => ({ ...state, isUndecryptable: await isUndecryptable(tx, state, encryption.open) })),
    );
  });
  return [...kinds.values()].map(({ payWay, name }) => {
    const state = states.find((one) => one.payWay === payWay);
    if (!state || (state.mode === 'simulator' && !simulated) || state.missing.length > 0)
      return unconfigured(payWay, name);
    const { enabled, mode, lastSuccessAt } = state;
    const status = statusOf({ ...state, configured: true }, now());
    return { payWay, name, enabled, configured: !state.isUndecryptable, mode, status, lastSuccessAt };
  });
}

/** Returns the enabled channels of all projects whose secrets cannot be decrypted with the master keys. */
export async function undecryptableChannels({
  store,
  simulated,
  encryption,
}: Pick<CredentialPorts, 'store' | 'simulated' | 'encryption'>): Promise<{ project: string; payWay: PayWay }[]> {
  return store.read(async (tx) => {
    const encrypted = [];
    for (const state of await channelStates(tx, null, []))
      if (
        state.enabled &&
        (simulated || state.mode !== 'simulator') &&
        (await isUndecryptable(tx, state, encryption.open))
      )
        encrypted.push({ project: state.project, payWay: state.payWay });
    return encrypted;
  });
}

async function isUndecryptable(tx: ReadTx, { configId }: { configId: string }, decrypt: Decrypt): Promise<boolean> {
  const rows = await readVersion(tx, configId);
  return rows !== undefined && decryptionFaultOf(rows, decrypt) !== null;
}

function unconfigured(payWay: PayWay, name: string): PublicChannel {
  return { payWay, name, enabled: false, configured: false, mode: null, status: 'unconfigured', lastSuccessAt: null };
}

/** Returns why a version's secrets cannot be decrypted, without secrets; null if they can be decrypted. */
export function decryptionFaultOf(
  { config, certs }: Pick<VersionRows, 'config' | 'certs'>,
  decrypt: Decrypt,
): string | null {
  try {
    openSecrets(config, decrypt);
    pemsOf(certs, decrypt);
    return null;
  } catch (error) {
    if (error instanceof DecryptionFailed) return error.message;
    throw error;
  }
}

/** A certificate in use that expires soon or has expired. If it has expired, `daysLeft` is negative. */
export interface EndingCert {
  id: string;
  project: string;
  payWay: string;
  kind: string;
  daysLeft: number;
}

/** Full days until a certificate expires, rounded down. null if the certificate never expires. */
function daysLeft({ notAfter }: { notAfter: Date | null }, now: Date): number | null {
  return notAfter && Math.floor((notAfter.getTime() - now.getTime()) / DAY);
}

/**
 * Runs the `certificate-expiry` job: returns the certificates in use that expire within 30 days. A certificate is left
 * out if the configuration has another one of the same kind that is valid longer. Also stores the expiry date for the
 * certificate's channel, so that its status becomes `degraded`. Root certificates are excluded, because channels may
 * use expired root certificates.
 */
export async function watchExpiry({
  store,
  now,
  log,
}: {
  store: Store;
  now: () => Date;
  log: HealthPorts['log'];
}): Promise<EndingCert[]> {
  const at = now();
  const until = new Date(at.getTime() + EXPIRY_DAYS * DAY);
  return store.transaction(async (tx) => {
    const ending = (await endingCerts(tx, until)).filter(({ kind }) => !isRoot(kind));
    for (const [, [first]] of Map.groupBy(ending, ({ project, payWay }) => `${project} ${payWay}`)) {
      if (!first) continue;
      const { project, payWay, notAfter } = first;
      await tx.channelStates.update({ project, payWay }, { certsExpireAt: notAfter });
    }
    return ending.map((cert) => {
      const { id, project, payWay, kind } = cert;
      const shown = { id, project, payWay, kind, daysLeft: daysLeft(cert, at) ?? 0 };
      const isOver = shown.daysLeft < 0;
      log(isOver ? 'error' : 'warn', `a certificate in use ${isOver ? 'has expired' : 'expires soon'}`, { ...shown });
      return shown;
    });
  });
}

interface NoticedChannel {
  project: string;
  payWay: PayWay;
}

export interface Noticed {
  /** Records the result of one notification. `refusal` is null if the notification was genuine. */
  note(of: NoticedChannel, refusal: NotificationRefusal | null): void;
  /** Resolves when all pending records are written. */
  idle(): Promise<void>;
}

/**
 * Minimum time between two records per channel and reason (ms). The limit exists because any client can post to the
 * notification address. A record contains the number of refusals since the previous record.
 */
const NOTE_EVERY_MS = 5_000;
/** Genuine notifications of a channel are recorded at most once in this time (ms). */
const GENUINE_EVERY_MS = 60_000;

interface Waiting {
  writtenAt: number;
  count: number;
}

/** Creates the recorder of notifications. It writes in the background; a failed write never fails the request. */
export function createNoticed({ store, now, log }: HealthPorts): Noticed {
  const known = new Map<string, Waiting>();
  const writing = new Set<Promise<unknown>>();
  return {
    note(of, refusal) {
      const key = `${of.project} ${of.payWay} ${refusal?.why ?? ''}`;
      const at = now();
      const { writtenAt, count } = known.get(key) ?? { writtenAt: Number.NEGATIVE_INFINITY, count: 0 };
      const isSoon = at.getTime() - writtenAt < (refusal ? NOTE_EVERY_MS : GENUINE_EVERY_MS);
      known.set(key, isSoon ? { writtenAt, count: count + 1 } : { writtenAt: at.getTime(), count: 0 });
      if (isSoon) return;
      // After a refusal, the next genuine notification is recorded immediately.
      if (refusal) known.delete(`${of.project} ${of.payWay} `);
      const write = store
        .autocommit((tx) =>
          refusal
            ? noteRefusedNotifications(tx, { ...of, ...refusal, at, count: count + 1, signed: SIGNED })
            : noteNotification(tx, { ...of, at }),
        )
        .catch((error: unknown) => log('warn', 'the result of a notification could not be stored', { ...of, error }))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    async idle() {
      await Promise.all(writing);
    },
  };
}
