import type { AuditEntry } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { ChannelKind, Download, PayWay, Transport } from '../payments/channel.ts';
import type { SerialOf } from './pem.ts';
import type { Purpose } from './live-guard.ts';
import type { Encryption } from '../db/encryption.ts';

export interface CredentialPorts {
  store: Store;
  encryption: Encryption;
  kinds: ReadonlyMap<PayWay, ChannelKind>;
  audit: (tx: Tx, entry: AuditEntry) => Promise<void>;
  serialOf: SerialOf;
  transportTo: (payWay: PayWay) => Transport;
  /** Downloads files that channels provide, such as certificates. Absent = files are not downloaded. */
  download?: Download | undefined;
  now: () => Date;
  simulatorUrl: string | null;
  /** The public URL at which channels reach the service. */
  publicUrl?: string | undefined;
  /**
   * Whether the simulator is enabled. If it is, simulator configurations are used, and are created for projects without
   * configuration.
   */
  simulated: boolean;
  purpose: Purpose;
}

export interface Acting {
  actor: Actor;
  project: string;
}

/** Returns the columns of an audit entry that describe the caller. */
export function actorColumns({
  kind,
  name,
  ip,
  requestId,
}: Actor): Pick<AuditEntry, 'actorKind' | 'actor' | 'ip' | 'requestId'> {
  return { actorKind: kind, actor: name, ip: ip ?? null, requestId: requestId ?? null };
}

/** Throws NotFound if the project does not exist. */
export async function requireProject(tx: ReadTx, code: string): Promise<void> {
  if (!(await tx.projects.find({ code }))) throw new NotFound('project');
}

/** Returns the definition of a channel. Throws NotFound if the channel does not exist. */
export function kindOf({ kinds }: Pick<CredentialPorts, 'kinds'>, payWay: string): ChannelKind {
  const kind = kinds.get(payWay as PayWay);
  if (!kind) throw new NotFound('channel');
  return kind;
}
