import { channelStates } from '../db/queries/credentials.ts';
import type { ChannelStateRow } from '../db/entities/credentials.ts';
import type { ReadTx } from '../db/store.ts';
import type { Mode, PayWay } from '../payments/channel.ts';
import { readVersion, type Unseal } from './build.ts';
import type { CredentialPorts } from './ports.ts';
import { sealFaultOf } from './seal-fault.ts';
import { verifyingKinds } from './trust.ts';

/** How a channel is, in one word. */
export type ChannelStatus = 'up' | 'degraded' | 'down' | 'disabled' | 'unconfigured';

/** A certificate that ends within these days makes its channel degraded. */
export const EXPIRY_DAYS = 30;

const DAY = 86_400_000;
/** A success this fresh weighs more than a failure after it. */
const FRESH = 60_000;
/** A failure says "down" for this long; after that nobody knows. */
const REMEMBERED = 600_000;

/** A channel as the public may know it. */
export interface PublicChannel {
  payWay: PayWay;
  name: string;
  enabled: boolean;
  configured: boolean;
  mode: Mode | null;
  status: ChannelStatus;
  lastSuccessAt: Date | null;
}

/** Judges a channel by what was noted of it: the newest word counts, certificates that end soon, and what waits for trust. */
export function statusOf(
  state: Pick<ChannelStateRow, 'enabled' | 'lastSuccessAt' | 'lastFailureAt' | 'certsExpireAt'> & {
    configured: boolean;
    /** Something that was uploaded to verify waits for an administrator. */
    awaitsTrust?: boolean;
    /** Its secrets do not open. */
    isSealed?: boolean;
  },
  now: Date,
): ChannelStatus {
  if (!state.configured) return 'unconfigured';
  if (!state.enabled) return 'disabled';
  if (state.isSealed) return 'down';
  const sinceSuccess = now.getTime() - (state.lastSuccessAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  const sinceFailure = now.getTime() - (state.lastFailureAt?.getTime() ?? Number.NEGATIVE_INFINITY);
  const failing = sinceFailure < sinceSuccess;
  if (failing && sinceFailure < REMEMBERED && sinceSuccess > FRESH) return 'down';
  if (failing || sinceFailure < FRESH || state.awaitsTrust) return 'degraded';
  const ends = state.certsExpireAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return ends - now.getTime() < EXPIRY_DAYS * DAY ? 'degraded' : 'up';
}

/** Every channel there is, with its state in the project; no ids, no error text. */
export async function publicChannels(
  { store, kinds, simulated, now, sealing }: Pick<CredentialPorts, 'store' | 'kinds' | 'simulated' | 'now' | 'sealing'>,
  project = 'default',
): Promise<PublicChannel[]> {
  const verifying = [...kinds.values()].flatMap((kind) => [...verifyingKinds(kind)]);
  const states = await store.read(async (tx) => {
    const found = await channelStates(tx, project, verifying);
    return Promise.all(found.map(async (state) => ({ ...state, isSealed: await isSealed(tx, state, sealing.open) })));
  });
  return [...kinds.values()].map(({ payWay, name }) => {
    const state = states.find((one) => one.payWay === payWay);
    if (!state || (state.mode === 'simulator' && !simulated) || state.missing.length > 0)
      return unconfigured(payWay, name);
    const { enabled, mode, lastSuccessAt } = state;
    const status = statusOf({ ...state, configured: true }, now());
    return { payWay, name, enabled, configured: !state.isSealed, mode, status, lastSuccessAt };
  });
}

/** The enabled channels of all projects whose secrets do not open with the master keys. */
export async function sealedChannels({
  store,
  simulated,
  sealing,
}: Pick<CredentialPorts, 'store' | 'simulated' | 'sealing'>): Promise<{ project: string; payWay: PayWay }[]> {
  return store.read(async (tx) => {
    const sealed = [];
    for (const state of await channelStates(tx, null, []))
      if (state.enabled && (simulated || state.mode !== 'simulator') && (await isSealed(tx, state, sealing.open)))
        sealed.push({ project: state.project, payWay: state.payWay });
    return sealed;
  });
}

async function isSealed(tx: ReadTx, { configId }: { configId: string }, unseal: Unseal): Promise<boolean> {
  const rows = await readVersion(tx, configId);
  return rows !== undefined && sealFaultOf(rows, unseal) !== null;
}

function unconfigured(payWay: PayWay, name: string): PublicChannel {
  return { payWay, name, enabled: false, configured: false, mode: null, status: 'unconfigured', lastSuccessAt: null };
}
