import { notKnown } from '../../config/nearest.ts';
import type { Tx } from '../db/store.ts';
import { InvalidRequest, type FieldError } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { MODES, type CertKindSpec, type ChannelKind, type FieldSpec, type Mode } from '../payments/channel.ts';
import { type Account, type LockedCredentials, clearDefault, makeDefault } from './trust.ts';
import { SimulatorsKey, keepCert, mayBeDefault, parse } from './certs.ts';
import type { ParsedCert } from './pem.ts';
import type { CredentialPorts } from './ports.ts';

/** The API shows this text instead of a secret; if a client sends it back, the stored secret stays unchanged. */
export const MASKED = '***';

/** A configuration in a request: `mode`, fields, and PEM texts under the name of their certificate kind. */
export type ConfigInput = Readonly<Record<string, unknown>>;

/** A validated change of a configuration. Absent fields keep their value, and null clears a field. */
export interface ConfigChange {
  mode: Mode;
  fields: ReadonlyMap<string, string | null>;
  certs: ReadonlyMap<CertKindSpec, ParsedCert[] | null>;
}

/** Validates every field that was sent. Throws one 400 that lists every invalid field. */
export function readChange(
  ports: Pick<CredentialPorts, 'now' | 'serialOf'>,
  kind: ChannelKind,
  input: ConfigInput,
  current: Mode | undefined,
): ConfigChange {
  const errors: FieldError[] = [];
  const fields = new Map<string, string | null>();
  const certs = new Map<CertKindSpec, ParsedCert[] | null>();
  const mode = input['mode'] ?? current;
  if (!kind.modes.some((one) => one === mode)) {
    const modes = kind.modes.filter((one) => MODES.includes(one)).join(', ');
    errors.push({ pointer: '/mode', code: 'invalid_value', detail: `must be one of ${modes}` });
  }
  const known = ['mode', ...kind.fields.map(({ name }) => name), ...kind.certKinds.map((spec) => spec.kind)];
  for (const name of Object.keys(input).filter((one) => !known.includes(one)))
    errors.push({ pointer: `/${name.slice(0, 64)}`, code: 'unknown_member', detail: notKnown(name, known) });
  for (const spec of kind.fields) {
    const sent = input[spec.name];
    if (sent === undefined || sent === MASKED) continue;
    const read = readField(spec, sent);
    if (typeof read === 'object' && read !== null) errors.push(read);
    else fields.set(spec.name, read);
  }
  for (const spec of kind.certKinds) {
    const sent = input[spec.kind];
    if (sent === undefined || sent === MASKED) continue;
    try {
      certs.set(spec, readCerts(ports, spec, sent));
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error;
      errors.push(...(error.options.errors ?? []));
    }
  }
  if (errors.length > 0) throw refused(errors);
  return { mode: mode as Mode, fields, certs };
}

/** Returns the fields that another account may inherit, without secrets and account-specific fields. */
export function withoutAccount(kind: ChannelKind, fields: Readonly<Record<string, string>>): Record<string, string> {
  const own = new Set(kind.fields.filter(({ secret, ofAccount }) => secret || ofAccount).map(({ name }) => name));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !own.has(name)));
}

/** Returns the account that a change names in its identifying fields, or an empty text if it names none. */
export function accountNamed(kind: ChannelKind, { fields }: ConfigChange): string {
  return kind.accountOf(Object.fromEntries([...fields].flatMap(([name, value]) => (value ? [[name, value]] : []))));
}

/** Returns the configuration fields after a change. Throws a 400 that lists each missing required field. */
export function mergeFields(
  kind: ChannelKind,
  before: Readonly<Record<string, string>>,
  { mode, fields }: ConfigChange,
): Record<string, string> {
  const merged: Record<string, string> = { ...before };
  for (const [name, value] of fields) {
    if (value === null) delete merged[name];
    else merged[name] = value;
  }
  const missing = kind.fields.filter(({ name, requiredIn }) => requiredIn.includes(mode) && !merged[name]);
  if (missing.length > 0)
    throw refused(
      missing.map(({ name }) => ({ pointer: `/${name}`, code: 'required', detail: `is required in the mode ${mode}` })),
    );
  return merged;
}

/** Stores the certificates of a change. An untrusted certificate does not replace a trusted default. */
export async function applyCerts(
  tx: Tx,
  ports: CredentialPorts,
  locked: LockedCredentials,
  { certs }: ConfigChange,
  { actor, of }: { actor: Actor; of: Account },
): Promise<void> {
  for (const [spec, parsed] of certs) {
    if (parsed === null) {
      await clearDefault(tx, locked, { kind: spec.kind, ...of });
      continue;
    }
    // The first certificate of a PEM text must become the default and the newest in the table, so it is stored last.
    for (const one of parsed.toReversed()) {
      const { cert } = await keepCert(tx, ports, locked, spec, one, { actor, of }).catch(simulatorsRefused(spec.kind));
      if (mayBeDefault(locked, cert, spec)) await makeDefault(tx, locked, cert);
    }
  }
}

/** Returns a function that converts SimulatorsKey to a 400 for the field of this certificate kind. */
export function simulatorsRefused(kind: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof SimulatorsKey)) throw error;
    throw refused([{ pointer: `/${kind}`, code: 'unusable', detail: error.message }]);
  };
}

/** Whether a requested configuration change sets or clears certificates or keys. */
export function bringsCerts({ certKinds }: ChannelKind, input: ConfigInput): boolean {
  return certKinds.some(({ kind }) => input[kind] !== undefined && input[kind] !== MASKED);
}

/** Creates a 400 error about fields of a configuration. */
export function refused(errors: FieldError[]): InvalidRequest {
  const names = errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`);
  return new InvalidRequest(`The configuration is not valid: ${names.join('; ')}.`.replace(/\?\.$/, '?'), errors);
}

function readField({ name, pattern }: FieldSpec, sent: unknown): string | null | FieldError {
  if (sent === null) return null;
  // A large number may have lost digits when the JSON was parsed. So a number must be a safe integer or less than 1000
  // (fee rates have decimals). Other numbers must be sent as text.
  const isExact = typeof sent === 'number' && (Number.isSafeInteger(sent) || Math.abs(sent) < 1000);
  const text = isExact ? String(sent) : sent;
  const value = typeof text === 'string' ? text.trim() : '';
  if (value === '' || value.length > 1024 || (pattern && !pattern.test(value)))
    return { pointer: `/${name}`, code: 'invalid_format', detail: 'has an invalid format' };
  return value;
}

function readCerts(
  ports: Pick<CredentialPorts, 'now' | 'serialOf'>,
  spec: CertKindSpec,
  sent: unknown,
): ParsedCert[] | null {
  if (sent === null) return null;
  const texts = Array.isArray(sent) ? sent.slice(0, 20) : [sent];
  const pointer = `/${spec.kind}`;
  return texts.map((text) => {
    if (typeof text !== 'string')
      throw refused([{ pointer, code: 'invalid_type', detail: 'must be the text of a PEM file' }]);
    return parse(ports, spec, { bytes: Buffer.from(text, 'utf8') }, pointer);
  });
}
