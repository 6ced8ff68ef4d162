import type { Encryption } from '../db/encryption.ts';
import type { Audit } from '../identity/audit.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Ports } from '../payments/ports.ts';
import type { EmitCredentialChange } from '../identity/ports.ts';

export type SecretEncryption = Pick<Encryption, 'encrypt' | 'open'>;

export interface EventPorts extends Pick<Ports, 'store' | 'now' | 'checkpoint' | 'log'> {
  encryption: SecretEncryption;
  /** Sends a request to a URL that a merchant has configured. */
  send: SendOutgoing;
  audit: Audit;
  emitCredentialChange: EmitCredentialChange;
  /** Called after each delivery attempt, to count attempts by result. */
  tried: (result: 'delivered' | 'refused' | 'unanswered') => void;
  /** Returns why a webhook URL is not allowed; undefined if the URL is allowed. */
  urlFault: UrlRule;
}
