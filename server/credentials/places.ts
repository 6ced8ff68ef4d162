import type { CertRow, ChannelConfigRow } from '../db/entities/credentials.ts';
import type { Place } from './sealing.ts';

/** Where the secret fields of a configuration version are sealed. */
export function secretsPlace({ id, version }: Pick<ChannelConfigRow, 'id' | 'version'>): Place {
  return { table: 'channel_configs', id, column: 'sealed', version };
}

/** Where the private part of a certificate row is sealed. */
export function privatePartPlace({ id }: Pick<CertRow, 'id'>): Place {
  return { table: 'certs', id, column: 'sealed', version: 1 };
}
