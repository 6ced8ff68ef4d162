import type { Sealing } from '../db/sealing.ts';
import type { Audit } from '../identity/audit.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Ports } from '../payments/ports.ts';
import type { TellCredentialChange } from '../identity/ports.ts';

/** Seals the signing secrets. */
export type SecretSealing = Pick<Sealing, 'seal' | 'open'>;

/** Everything the operations of this folder need. */
export interface EventPorts extends Pick<Ports, 'store' | 'now' | 'checkpoint' | 'log'> {
  sealing: SecretSealing;
  /** Sends to an address that a merchant gave. */
  send: SendOutgoing;
  audit: Audit;
  tellCredentialChange: TellCredentialChange;
  /** Counts how an attempt of a delivery ended. */
  tried: (result: 'delivered' | 'refused' | 'unanswered') => void;
  /** Why a webhook could never be told. */
  urlFault: UrlRule;
}
