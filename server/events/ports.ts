import type { Store } from '../db/store.ts';
import type { Audit } from '../identity/audit.ts';

/** Where a sealed text stands (credentials/sealing.ts). */
interface Place {
  table: string;
  id: string;
  column: string;
  version: number;
}

/** Seals the signing secrets. */
export interface SecretSealing {
  seal(place: Place, plain: string): string;
  open(place: Place, sealed: string): string;
}

/**
 * Sends one message to a url that somebody else gave us (outgoing/sender.ts): address checked and pinned, no redirects,
 * 10 s; throws an Error with `why` when there is no complete answer.
 */
export type SendMessage = (request: {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The answer's body is of no interest: too much of it, or none of it in time, changes nothing. */
  statusOnly: true;
}) => Promise<{ status: number }>;

/** Everything the operations of this folder need. */
export interface EventPorts {
  store: Store;
  now: () => Date;
  sealing: SecretSealing;
  send: SendMessage;
  audit: Audit;
  /** In production a webhook is told over https only. */
  httpsOnly: boolean;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
  /** Named places between awaits where tests let the process die. */
  checkpoint: (name: string) => void;
}
