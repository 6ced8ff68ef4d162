import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { ReadTx } from '../db/store.ts';
import type { ChannelKind, Mode, PayWay, Registration, Scene } from '../payments/channel.ts';
import { notifyUrlOf, type Unseal } from './build.ts';
import { MASKED } from './config-change.ts';
import { sealFaultOf } from './seal-fault.ts';
import { statusOf, type ChannelStatus } from './status.ts';
import { isUsable, sameAccount, trustOf, verifyingKinds } from './trust.ts';

/** A certificate or key of a configuration. */
export type ShownCert = Pick<CertRow, 'id' | 'kind' | 'name' | 'serialNumber' | 'fingerprint' | 'notAfter'>;

/** One that belongs to another account, or to the same one in another mode. */
export type ForeignCert = ShownCert & Pick<CertRow, 'mode' | 'account'>;

/** A configuration as it may be shown: secrets are only `***` and a fingerprint. */
export interface ConfigView {
  project: string;
  payWay: PayWay;
  name: string;
  configured: boolean;
  enabled: boolean;
  mode: Mode | null;
  account: string | null;
  version: number | null;
  fields: Record<string, string>;
  fingerprints: Record<string, string>;
  certificates: ShownCert[];
  /** What verifies nothing yet: it waits for an administrator. */
  untrusted: ShownCert[];
  missing: string[];
  /** Why a kind may be missing all the same: these belong to another account or mode, and are used for no other. */
  ofOtherAccounts: ForeignCert[];
  /** What must be registered at the channel for its scenes; empty where nobody knows our own address. */
  registrations: readonly Registration<Scene>[];
  status: ChannelStatus;
  /** Why its secrets do not open. */
  fault: string | null;
  lastSuccessAt: Date | null;
  lastFailureAt: Date | null;
  lastFailure: string | null;
  lastNoticeAt: Date | null;
  refusedNotices: ChannelStateRow['refusedNotices'];
  updatedAt: Date | null;
  updatedBy: string | null;
}

/** What a view depends on beside the rows. */
export interface ViewSurroundings {
  simulated: boolean;
  now: Date;
  unseal: Unseal;
  /** Where this service is reached. */
  publicUrl?: string | undefined;
}

/** Reads the current configuration of (project, payWay) as it may be shown. */
export async function readView(
  tx: ReadTx,
  project: string,
  kind: ChannelKind,
  surroundings: ViewSurroundings,
): Promise<ConfigView> {
  const { payWay } = kind;
  const state = await tx.channelStates.find({ project, payWay });
  const config = state && (await tx.channelConfigs.find({ project, payWay, version: state.version }));
  const verifying = verifyingKinds(kind);
  const certs = await tx.certs.list({ project, payWay, deletedAt: null });
  const waiting = certs.filter((cert) => trustOf(cert, verifying) === 'waiting');
  if (!state || !config) return { ...nothing(project, kind), untrusted: waiting };
  // Without another one of its kind what was distrusted waits for a word, too: with a change of mode, say, and back.
  const isLacked = (cert: CertRow) => trustOf(cert, verifying) === 'distrusted' && config.missing.includes(cert.kind);
  const untrusted = certs.filter((cert) =>
    sameAccount(cert, config) ? waiting.includes(cert) || isLacked(cert) : cert.mode === null && waiting.includes(cert),
  );
  const ofOtherAccounts = certs.filter(
    (cert) => config.missing.includes(cert.kind) && cert.mode !== null && !sameAccount(cert, config),
  );
  // Of what verifies a version may have been made with more than is trusted now.
  const used = config.certIds.length > 0 ? await tx.certs.list({ id: config.certIds }) : [];
  const usable = used.filter((cert) => isUsable(cert, verifying, config));
  const fault = sealFaultOf({ config, certs: used }, surroundings.unseal);
  return show(kind, state, config, { usable, untrusted, ofOtherAccounts, fault }, surroundings);
}

/** How a configuration is shown. */
export function show(
  kind: ChannelKind,
  state: ChannelStateRow,
  config: ChannelConfigRow,
  {
    usable,
    untrusted,
    ofOtherAccounts,
    fault,
  }: Pick<ConfigView, 'ofOtherAccounts' | 'fault'> & {
    usable: readonly CertRow[];
    untrusted: CertRow[];
  },
  { simulated, now, publicUrl }: Omit<ViewSurroundings, 'unseal'>,
): ConfigView {
  const { project, payWay, mode, account, version, fields, fingerprints, missing } = config;
  const secrets = Object.fromEntries(Object.keys(fingerprints).map((name) => [name, MASKED]));
  const isWhole = missing.length === 0 && (simulated || mode !== 'simulator');
  return {
    project,
    payWay,
    name: kind.name,
    configured: isWhole && fault === null,
    enabled: state.enabled,
    mode,
    account,
    version,
    fields: { ...fields, ...secrets },
    fingerprints,
    certificates: config.certIds.flatMap((id) => usable.find((cert) => cert.id === id) ?? []),
    untrusted,
    missing,
    ofOtherAccounts,
    registrations: registrationsOf(kind, config, publicUrl),
    status: statusOf(
      { ...state, configured: isWhole, awaitsTrust: untrusted.length > 0, isSealed: fault !== null },
      now,
    ),
    fault,
    lastSuccessAt: state.lastSuccessAt,
    lastFailureAt: state.lastFailureAt,
    lastFailure: state.lastFailure,
    lastNoticeAt: state.lastNoticeAt,
    refusedNotices: state.refusedNotices,
    updatedAt: config.createdAt,
    updatedBy: config.createdBy,
  };
}

function registrationsOf(
  kind: ChannelKind,
  { project, fields }: ChannelConfigRow,
  publicUrl: string | undefined,
): readonly Registration<Scene>[] {
  if (publicUrl === undefined) return [];
  return kind.registrations(fields, { publicUrl, notifyUrl: notifyUrlOf(publicUrl, kind.payWay, project) });
}

function nothing(project: string, { payWay, name }: ChannelKind): ConfigView {
  return {
    project,
    payWay,
    name,
    configured: false,
    enabled: false,
    mode: null,
    account: null,
    version: null,
    fields: {},
    fingerprints: {},
    certificates: [],
    untrusted: [],
    missing: [],
    ofOtherAccounts: [],
    registrations: [],
    status: 'unconfigured',
    fault: null,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailure: null,
    lastNoticeAt: null,
    refusedNotices: null,
    updatedAt: null,
    updatedBy: null,
  };
}
