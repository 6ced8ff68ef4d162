import type { CertKindSpec } from '../../../server/payments/channel.ts';
import type { ApiClient, Query } from '../../api-client.ts';
import { UsageError } from '../../errors.ts';
import type { Row } from '../../values.ts';

/** A field of a channel configuration, as the service describes it. */
export interface SchemaField {
  name: string;
  label?: string;
  secret?: boolean;
  requiredIn?: readonly string[];
  /** A regular expression that the whole value matches. */
  pattern?: string | null;
  help?: string;
}

/** A kind of certificate or key of a channel. */
export interface SchemaCert {
  kind: string;
  label?: string;
  form?: CertKindSpec['form'];
  help?: string;
}

/** What a channel wants to know. */
export interface Schema {
  modes: readonly string[];
  fields: readonly SchemaField[];
  certKinds: readonly SchemaCert[];
}

/** Reads what a channel wants to know. */
export async function readSchema(api: ApiClient, path: string, query: Query): Promise<Schema> {
  const { modes, fields, certKinds } = (await api.get(`${path}/schema`, query)) as unknown as Partial<Schema>;
  return { modes: modes ?? ['simulator', 'live'], fields: fields ?? [], certKinds: certKinds ?? [] };
}

/** Values that keep what is stored. */
const KEEPS: ReadonlySet<unknown> = new Set([undefined, null, '***']);

/** What is wrong with the value of a field; undefined when the service will take its form. */
export function fieldFault({ pattern }: SchemaField, value: string): string | undefined {
  return typeof pattern !== 'string' || matches(pattern, value.trim()) ? undefined : 'has an invalid format';
}

/** Of a pattern that this Node.js does not know, the service judges alone. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

/** Checks the fields of a file before they are sent; throws what names the first one that is wrong. */
export function checkFields(fields: Row, { fields: known, certKinds, modes }: Schema, source: string): void {
  const names = ['mode', ...known.map(({ name }) => name), ...certKinds.map(({ kind }) => kind)];
  for (const [name, value] of Object.entries(fields)) {
    if (!names.includes(name)) throw new UsageError(`${source}: unknown field "${name}".`, adviceFor(name, names));
    if (KEEPS.has(value)) continue;
    if (name === 'mode' && !modes.includes(String(value)))
      throw new UsageError(`${source}: mode is "${String(value)}".`, `use one of ${modes.join(', ')}`);
    const field = known.find((one) => one.name === name);
    const fault = field && fieldFault(field, String(value));
    if (fault) throw new UsageError(`${source}: ${name} ${fault}.`, field.help);
  }
}

function adviceFor(name: string, names: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const meant = names.find((one) => plain(one) === plain(name));
  return meant === undefined ? `fields: ${names.join(', ')}` : `did you mean ${meant}?`;
}
