// Operations on certificates and keys: store an uploaded file, choose which certificate of a kind a channel uses (the
// default), trust or distrust a verification key.
import { randomUUID } from 'node:crypto';
import type { CertRow } from '../db/entities/credentials.ts';
import { hasOpenOrders } from '../db/queries/credentials.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { Conflict, InvalidRequest, NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import {
  type CertKindSpec,
  type ChannelKind,
  ChannelMisconfigured,
  type Mode,
  type PayWay,
} from '../payments/channel.ts';
import { type ParsedCert, PemRefused, parseCert, partnerOf, publicKeyOf } from './pem.ts';
import { type Acting, type CredentialPorts, kindOf, requireProject, actorColumns } from './ports.ts';
import { CertNotTrusted, TrustNotNeeded, fieldRefused } from './errors.ts';
import { DecryptionFailed, privatePartPlace } from '../db/encryption.ts';
import {
  type Account,
  type LockedCredentials,
  type TrustWord,
  nextDefault,
  isTrusted,
  lockCredentials,
  makeDefault,
  reviseTrust,
  sameAccount,
  trustOf,
  trusterOf,
  verifyingKinds,
  writeTrust,
} from './trust.ts';
import { SIMULATOR, updateCerts } from './versions.ts';

export type { CertRow } from '../db/entities/credentials.ts';

export type CertView = CertRow & { trust: TrustWord | null };

export interface CertUpload {
  payWay: PayWay;
  kind: string;
  bytes: Buffer;
  /** The request field that contains the file. Error responses name this field. */
  pointer: string;
  name?: string | undefined;
  passphrase?: string | undefined;
  /**
   * The account to which the certificate belongs. Absent = the account of the current configuration. If no
   * configuration exists, it is the account of the first configuration that is written later.
   */
  of?: Account | undefined;
}

/** An administrator may omit the project, because the certificate's id determines it. */
type CertActing = Omit<Acting, 'project'> & { project: string | undefined };

export interface Certs {
  /**
   * Stores an uploaded certificate or key. The first one of its kind becomes the default (the one that the channel
   * uses). The counterpart of a certificate is its private key, and vice versa. If the account already has a default
   * counterpart, the first upload must match a stored counterpart, otherwise it is refused. A verification key that an
   * application uploads is not used before an administrator trusts it.
   */
  upload(acting: Acting, upload: CertUpload): Promise<CertView>;
  /** Newest first. */
  list(project: string, filter: { payWay?: PayWay | undefined; kind?: string | undefined }): Promise<CertView[]>;
  makeDefault(acting: CertActing, id: string): Promise<CertView>;
  /** Only administrators may trust a verification key. A key that is trusted already keeps its date. */
  trust(acting: CertActing, id: string): Promise<CertView>;
  /**
   * Withdraws the trust in a verification key. After the commit the key verifies no messages, not even messages about
   * orders in progress. Only administrators may withdraw trust.
   */
  distrust(acting: CertActing, id: string): Promise<CertView>;
  remove(acting: CertActing, id: string): Promise<CertView>;
  /** Returns a certificate as it is stored in the database. The API shows only its public part. */
  find(project: string | undefined, id: string): Promise<CertView>;
}

/**
 * Creates the operations on certificates and keys. Each change is one transaction. Changes of the same project and
 * channel run one after another.
 */
export function createCerts(ports: CredentialPorts): Certs {
  const { store, now } = ports;

  async function find(tx: ReadTx, project: string | undefined, id: string): Promise<CertRow> {
    const cert = await tx.certs.find({ id, deletedAt: null });
    if (!cert || (project !== undefined && cert.project !== project)) throw new NotFound('certificate');
    return cert;
  }

  /**
   * Changes a certificate while its rows are locked. Then writes a new configuration version if the channel must use
   * other certificates, and writes the audit entry.
   */
  function change(
    { actor, project }: CertActing,
    id: string,
    action: string,
    work: (tx: Tx, locked: LockedCredentials, cert: CertRow) => Promise<Partial<CertRow>>,
    anyhow: (cert: CertRow) => boolean = () => false,
  ): Promise<CertView> {
    return store.transaction(async (tx) => {
      const found = await find(tx, project, id);
      const locked = await lockCredentials(tx, found.project, found.payWay);
      const cert = locked.certs.find((one) => one.id === id);
      if (!cert) throw new NotFound('certificate');
      const changed = { ...cert, ...(await work(tx, locked, cert)) };
      await follow(tx, locked, actor.name, refusedByUse, { anyhow: anyhow(cert) });
      await ports.audit(tx, {
        ...actorColumns(actor),
        action,
        target: targetOf(cert),
        before: facts(cert),
        after: facts(changed),
      });
      return view(changed);
    });
  }

  function verifying({ payWay }: CertRow): ReadonlySet<string> {
    return verifyingKinds(kindOf(ports, payWay));
  }

  function view(cert: CertRow): CertView {
    return { ...cert, trust: trustOf(cert, verifying(cert)) };
  }

  function requireVerifying(cert: CertRow): void {
    if (!verifying(cert).has(cert.kind)) throw new TrustNotNeeded(cert.kind);
  }

  async function follow(
    tx: Tx,
    locked: LockedCredentials,
    by: string,
    refuse: (error: ChannelMisconfigured) => Error,
    options: { anyhow?: boolean } = {},
  ): Promise<void> {
    try {
      await updateCerts(tx, ports, kindOf(ports, locked.payWay), locked, by, options);
    } catch (error) {
      throw error instanceof ChannelMisconfigured ? refuse(error) : error;
    }
  }

  return {
    async upload({ actor, project }, { pointer, name, of: wanted, ...file }) {
      const spec = specOf(ports, file.payWay, file.kind);
      const parsed = parse(ports, spec, file, pointer);
      if (wanted) requireMode(kindOf(ports, file.payWay), wanted.mode);
      return store.transaction(async (tx) => {
        await requireProject(tx, project);
        const locked = await lockCredentials(tx, project, file.payWay);
        const of = wanted ?? accountInForce(ports, locked);
        const { cert, isNew } = await keepCert(tx, ports, locked, spec, parsed, { name, actor, of }).catch(
          (error: unknown) => {
            throw error instanceof SimulatorsKey ? fieldRefused(pointer, 'unusable', error.message) : error;
          },
        );
        if (!isNew)
          throw new Conflict('certificate_exists', 'This certificate or key is already stored for this account.', {
            extra: { id: cert.id },
          });
        const verifying = verifyingKinds(kindOf(ports, file.payWay));
        const isDefault = (one: CertRow) => one.kind === spec.kind && one.isDefault && isTrusted(one, verifying);
        const isFirst = !locked.certs.some((one) => sameAccount(one, cert) && isDefault(one));
        if (isFirst) await chooseCert(tx, locked, cert).catch(pairRefused(pointer));
        await follow(tx, locked, actor.name, (error) => fieldRefused(pointer, 'unusable', unusable(error)));
        const kept = { ...cert, isDefault: isFirst };
        await ports.audit(tx, {
          ...actorColumns(actor),
          action: 'cert.upload',
          target: targetOf(kept),
          after: facts(kept),
        });
        return view(kept);
      });
    },
    list: (project, { payWay, kind }) =>
      store.read(async (tx) => {
        await requireProject(tx, project);
        const filter = { project, deletedAt: null, ...(payWay && { payWay }), ...(kind && { kind }) };
        return (await tx.certs.list(filter, { orderBy: { createdAt: 'desc', id: 'desc' } })).map(view);
      }),
    makeDefault: (acting, id) =>
      change(acting, id, 'cert.default', async (tx, locked, cert) => {
        if (!isTrusted(cert, verifying(cert))) throw new CertNotTrusted();
        await chooseCert(tx, locked, cert);
        return { isDefault: true };
      }),
    trust: (acting, id) =>
      change(acting, id, 'cert.trust', async (tx, locked, cert) => {
        requireVerifying(cert);
        if (cert.trustedAt !== null) return {};
        const trust = { trustedAt: now(), trustedBy: acting.actor.name.slice(0, 128) };
        await writeTrust(tx, locked, cert, trust);
        return trust;
      }),
    distrust: (acting, id) =>
      change(
        acting,
        id,
        'cert.distrust',
        async (tx, locked, cert) => {
          requireVerifying(cert);
          const trust = { trustedAt: null, trustedBy: acting.actor.name.slice(0, 128) };
          await writeTrust(tx, locked, cert, trust);
          const heir = cert.isDefault ? nextDefault(locked, cert) : undefined;
          if (!heir?.trustedAt) return trust;
          await makeDefault(tx, locked, heir);
          return { ...trust, isDefault: false };
        },
        () => true,
      ),
    remove: (acting, id) =>
      change(
        acting,
        id,
        'cert.delete',
        async (tx, locked, cert) => {
          const verifies = verifying(cert).has(cert.kind);
          if (!verifies) await requireUnused(tx, cert);
          const gone = { deletedAt: now(), isDefault: false };
          const heir = cert.isDefault ? nextDefault(locked, cert) : undefined;
          if (heir) await makeDefault(tx, locked, heir);
          await tx.certs.update({ id }, gone);
          locked.certs = locked.certs.filter((one) => one.id !== id);
          if (verifies) await reviseTrust(tx, locked);
          return gone;
        },
        (cert) => verifying(cert).has(cert.kind),
      ),
    find: (project, id) => store.read(async (tx) => view(await find(tx, project, id))),
  };
}

/**
 * Returns the account of the current configuration; null if no configuration exists. If the simulator is disabled, a
 * simulator configuration counts as missing.
 */
function accountInForce({ simulated }: Pick<CredentialPorts, 'simulated'>, { config }: LockedCredentials) {
  if (!config || (config.mode === 'simulator' && !simulated)) return null;
  const { mode, account } = config;
  return { mode, account };
}

function requireMode({ modes, name }: ChannelKind, mode: Mode): void {
  if (!modes.includes(mode)) throw fieldRefused('/mode', 'invalid_value', `${name} has the modes ${modes.join(', ')}`);
}

/** Throws a 400 that lists the channel's certificate kinds if the channel does not have this kind. */
function specOf(ports: Pick<CredentialPorts, 'kinds'>, payWay: PayWay, kind: string): CertKindSpec {
  const { certKinds } = kindOf(ports, payWay);
  const spec = certKinds.find((one) => one.kind === kind);
  if (spec) return spec;
  const kinds = certKinds.map((one) => one.kind).join(', ');
  throw fieldRefused('/kind', 'invalid_value', `must be one of ${kinds}`);
}

/** Parses an uploaded file. If the file is invalid, throws a 400 for the request field `pointer`. */
export function parse(
  { now, serialOf }: Pick<CredentialPorts, 'now' | 'serialOf'>,
  spec: CertKindSpec,
  file: { bytes: Buffer; passphrase?: string | undefined },
  pointer: string,
): ParsedCert {
  try {
    return parseCert(spec, file, { now: now(), serialOf });
  } catch (error) {
    throw error instanceof PemRefused ? fieldRefused(pointer, error.code, error.message) : error;
  }
}

/** The columns of a certificate that the audit log records. */
export function facts(cert: CertRow): object {
  const { kind, name, mode, account, subject, serialNumber, fingerprint, notAfter } = cert;
  const { isDefault, trustedAt, trustedBy, deletedAt } = cert;
  const what = { kind, name, mode, account, subject, serialNumber, fingerprint, notAfter };
  return { ...what, isDefault, trustedAt, trustedBy, deletedAt };
}

function targetOf({ project, payWay, id }: CertRow): string {
  return `${project}/${payWay}/${id}`;
}

/** Throws a 409 if the certificate is the default of its kind, or if open orders still need it. */
async function requireUnused(tx: Tx, cert: CertRow): Promise<void> {
  if (cert.isDefault)
    throw new Conflict('in_use', 'This is the default certificate or key of its kind. Make another the default first.');
  if (await hasOpenOrders(tx, cert))
    throw new Conflict(
      'in_use',
      'Open orders still need this certificate or key. Delete it after these orders are finished.',
    );
}

function pairRefused(pointer: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Conflict)) throw error;
    const detail = 'does not match the current default certificate or key of the pair';
    throw new InvalidRequest('The certificate and the key do not match.', [{ pointer, code: error.code, detail }]);
  };
}

function refusedByUse(error: ChannelMisconfigured): Conflict {
  return new Conflict('certificate_unusable', `The configuration would not work: ${unusable(error)}.`);
}

function unusable({ field, message }: ChannelMisconfigured): string {
  return `cannot be used with the rest of the configuration (${field}: ${message.replace(/\.$/, '')})`;
}

/** The certificate and the key that would be used together do not match (409). */
export class NotAPair extends Conflict {
  constructor(kind: string) {
    super('certificate_pair_mismatch', `This certificate or key does not match the default ${kind}.`, {
      hint: 'First upload the counterpart: the private key for a certificate, or the certificate for a private key. Then make one of the two the default of its kind. The service makes its counterpart the default at the same time.',
    });
  }
}

/**
 * A simulator key was uploaded for sandbox or live. The private half of a simulator key is a file on a developer's
 * machine, so the key must not verify real messages.
 */
export class SimulatorsKey extends Error {
  constructor({ id, createdBy }: Pick<CertRow, 'id' | 'createdBy'>) {
    const escape =
      createdBy === SIMULATOR
        ? ''
        : `; it was uploaded for the simulator as ${id}: if it is not a simulator key, delete that certificate`;
    super(`is a simulator key and cannot verify anything in sandbox or live${escape}`);
  }
}

/** If `of` is null, the certificate will belong to the first account that is configured later. */
interface Brought {
  actor: Actor;
  of: Account | null;
  name?: string | undefined;
}

/**
 * Stores a parsed certificate or key, with its private part encrypted, but does not make it the default of its kind. If
 * the account already has the same certificate or key, returns the existing row. A verification key becomes trusted if
 * its uploader may trust keys. This also applies to a key that is already stored. Throws SimulatorsKey.
 */
export async function keepCert(
  tx: Tx,
  { encryption, now }: Pick<CredentialPorts, 'encryption' | 'now'>,
  locked: LockedCredentials,
  { kind, label, verifies }: CertKindSpec,
  { privatePem, ...parsed }: ParsedCert,
  { name, actor, of }: Brought,
): Promise<{ cert: CertRow; isNew: boolean }> {
  const owner = { mode: of?.mode ?? null, account: of?.account ?? null };
  if (verifies) await requireNotSimulators(tx, { project: locked.project, kind, ...parsed, ...owner });
  const isSame = (one: CertRow) =>
    one.kind === kind && one.fingerprint === parsed.fingerprint && sameAccount(one, owner);
  // A stored key that cannot be decrypted is ignored, so that uploading the same key again repairs the configuration.
  const known = locked.certs.find((one) => isSame(one) && opens(encryption, one));
  const trustedBy = verifies ? trusterOf(actor) : null;
  const trust = { trustedAt: trustedBy === null ? null : now(), trustedBy };
  if (known) {
    if (known.trustedAt !== null || trust.trustedAt === null) return { cert: known, isNew: false };
    await writeTrust(tx, locked, known, trust);
    return { cert: { ...known, ...trust }, isNew: false };
  }
  const cert: CertRow = {
    ...parsed,
    id: randomUUID(),
    project: locked.project,
    payWay: locked.payWay,
    kind,
    name: name ?? label.slice(0, 128),
    encrypted: null,
    isDefault: false,
    ...owner,
    createdBy: actor.name.slice(0, 128),
    createdAt: now(),
    deletedAt: null,
    ...trust,
  };
  if (privatePem) cert.encrypted = encryption.encrypt(privatePartPlace(cert), privatePem);
  await tx.certs.insert(cert);
  locked.certs = [...locked.certs, cert];
  return { cert, isNew: true };
}

/**
 * Throws SimulatorsKey if the uploaded key is known as a simulator key and is meant for sandbox or live. Keys that the
 * service stored for the simulator are known in every project, even after their deletion. Keys that an administrator
 * uploaded for the simulator are known only in that project and until their deletion. Keys that an application uploaded
 * are known only after an administrator has trusted or distrusted them.
 */
export async function requireNotSimulators(
  tx: Tx,
  { project, kind, fingerprint, mode }: Pick<CertRow, 'project' | 'kind' | 'fingerprint' | 'mode'>,
): Promise<void> {
  if (mode === null || mode === 'simulator') return;
  const known = await tx.certs.list({ kind, fingerprint, mode: 'simulator' });
  const brought = known.filter(({ trustedBy }) => trustedBy !== null);
  const simulators =
    brought.find(({ createdBy }) => createdBy === SIMULATOR) ??
    brought.find((one) => one.project === project && one.deletedAt === null);
  if (simulators) throw new SimulatorsKey(simulators);
}

/** Whether a certificate may become the default; an untrusted verification key never replaces a trusted default. */
export function mayBeDefault(locked: LockedCredentials, cert: CertRow, spec: CertKindSpec): boolean {
  if (!spec.verifies || cert.trustedAt !== null) return true;
  const isInForce = (one: CertRow) => one.isDefault && one.trustedAt !== null;
  return !locked.certs.some((one) => one.kind === cert.kind && sameAccount(one, cert) && isInForce(one));
}

/**
 * Makes a certificate or private key the default of its kind (the one that the channel uses). Its counterpart (the
 * private key of the certificate, or the certificate of the private key) must match. If the default counterpart does
 * not match, a stored counterpart that matches becomes the default. Throws NotAPair if no stored counterpart matches.
 */
async function chooseCert(tx: Tx, locked: LockedCredentials, cert: CertRow): Promise<void> {
  const partner = partnerOf(cert.kind);
  const candidates = locked.certs.filter((one) => one.kind === partner && sameAccount(one, cert));
  const current = candidates.find(({ isDefault }) => isDefault);
  if (current) {
    const key = publicKeyOf(cert);
    const fitting = [current, ...candidates.toReversed()].find((candidate) => publicKeyOf(candidate) === key);
    if (!fitting) throw new NotAPair(current.kind);
    if (fitting !== current) await makeDefault(tx, locked, fitting);
  }
  await makeDefault(tx, locked, cert);
}

function opens(encryption: CredentialPorts['encryption'], cert: CertRow): boolean {
  try {
    if (cert.encrypted) encryption.open(privatePartPlace(cert), cert.encrypted);
    return true;
  } catch (error) {
    if (error instanceof DecryptionFailed) return false;
    throw error;
  }
}
