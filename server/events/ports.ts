import type { Encryption } from '../db/encryption.ts';
import type { Audit } from '../identity/audit.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Ports } from '../payments/ports.ts';
import type { EmitCredentialChange } from '../identity/ports.ts';

/** Seals the signing secrets. */
export type SecretEncryption = Pick<Encryption, 'encrypt' | 'open'>;

/** Everything the operations of this folder need. */
export interface EventPorts extends Pick<Ports, 'store' | 'now' | 'checkpoint' | 'log'> {
  encryption: SecretEncryption;
  /** Sends to an address that a merchant gave. */
  send: SendOutgoing;
  audit: Audit;
  emitCredentialChange: EmitCredentialChange;
  /** Counts how an attempt of a delivery ended. */
  tried: (result: 'delivered' | 'refused' | 'unanswered') => void;
  /** Why a webhook could never be told. */
  urlFault: UrlRule;
}
