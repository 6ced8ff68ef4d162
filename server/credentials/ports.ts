import type { AuditEntry } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { ChannelKind, Download, PayWay, Transport } from '../payments/channel.ts';
import type { SerialOf } from './pem.ts';
import type { Purpose } from './live-guard.ts';
import type { Encryption } from '../db/encryption.ts';

/** What the operations on configurations and certificates need. */
export interface CredentialPorts {
  store: Store;
  encryption: Encryption;
  kinds: ReadonlyMap<PayWay, ChannelKind>;
  audit: (tx: Tx, entry: AuditEntry) => Promise<void>;
  serialOf: SerialOf;
  /** Sends to one channel. */
  transportTo: (payWay: PayWay) => Transport;
  /** Fetches the files that channels hand out; left out = none can be had. */
  download?: Download | undefined;
  now: () => Date;
  simulatorUrl: string | null;
  /** Where channels reach this service. */
  publicUrl?: string | undefined;
  /** Whether the simulator's configurations count, and are made for projects that have none. */
  simulated: boolean;
  purpose: Purpose;
}

/** Who changes which project's credentials. */
export interface Acting {
  actor: Actor;
  project: string;
}

/** The part of an audit line that says who. */
export function whoDid({
  kind,
  name,
  ip,
  requestId,
}: Actor): Pick<AuditEntry, 'actorKind' | 'actor' | 'ip' | 'requestId'> {
  return { actorKind: kind, actor: name, ip: ip ?? null, requestId: requestId ?? null };
}

/** Throws NotFound unless there is such a project. */
export async function requireProject(tx: ReadTx, code: string): Promise<void> {
  if (!(await tx.projects.find({ code }))) throw new NotFound('project');
}

/** The kind of a channel; throws NotFound. */
export function kindOf({ kinds }: Pick<CredentialPorts, 'kinds'>, payWay: string): ChannelKind {
  const kind = kinds.get(payWay as PayWay);
  if (!kind) throw new NotFound('channel');
  return kind;
}
