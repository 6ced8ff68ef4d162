import type { AuditEntry } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { ChannelKind, Download, PayWay, Transport } from '../payments/channel.ts';
import type { SerialOf } from './pem.ts';
import type { Purpose } from './live-guard.ts';
import type { Encryption } from '../db/encryption.ts';

/** What the operations on configurations and certificates need from the other folders. */
export interface CredentialPorts {
  store: Store;
  encryption: Encryption;
  kinds: ReadonlyMap<PayWay, ChannelKind>;
  audit: (tx: Tx, entry: AuditEntry) => Promise<void>;
  serialOf: SerialOf;
  /** Returns the function that sends HTTP requests to one channel. */
  transportTo: (payWay: PayWay) => Transport;
  /** Downloads files that channels provide; absent = no downloads. */
  download?: Download | undefined;
  now: () => Date;
  simulatorUrl: string | null;
  /** The public URL at which channels reach the service. */
  publicUrl?: string | undefined;
  /** Whether simulator configurations are used, and created for projects without one. */
  simulated: boolean;
  purpose: Purpose;
}

/** The caller of a change, and the project that is changed. */
export interface Acting {
  actor: Actor;
  project: string;
}

/** The columns of an audit entry that describe the caller. */
export function whoDid({
  kind,
  name,
  ip,
  requestId,
}: Actor): Pick<AuditEntry, 'actorKind' | 'actor' | 'ip' | 'requestId'> {
  return { actorKind: kind, actor: name, ip: ip ?? null, requestId: requestId ?? null };
}

/** Throws NotFound unless the project exists. */
export async function requireProject(tx: ReadTx, code: string): Promise<void> {
  if (!(await tx.projects.find({ code }))) throw new NotFound('project');
}

/** The kind of a channel; throws NotFound. */
export function kindOf({ kinds }: Pick<CredentialPorts, 'kinds'>, payWay: string): ChannelKind {
  const kind = kinds.get(payWay as PayWay);
  if (!kind) throw new NotFound('channel');
  return kind;
}
