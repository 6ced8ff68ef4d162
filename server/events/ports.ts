import type { Encryption } from '../db/encryption.ts';
import type { Audit } from '../identity/audit.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Ports } from '../payments/ports.ts';
import type { EmitCredentialChange } from '../identity/ports.ts';

/** Encrypts the signing secrets. */
export type SecretEncryption = Pick<Encryption, 'encrypt' | 'open'>;

/** What the operations of this folder need from other folders. */
export interface EventPorts extends Pick<Ports, 'store' | 'now' | 'checkpoint' | 'log'> {
  encryption: SecretEncryption;
  /** Sends a request to an address that a merchant configured. */
  send: SendOutgoing;
  audit: Audit;
  emitCredentialChange: EmitCredentialChange;
  /** Counts delivery attempts by result. */
  tried: (result: 'delivered' | 'refused' | 'unanswered') => void;
  /** Returns why the sender would refuse a webhook URL; undefined if it would not. */
  urlFault: UrlRule;
}
