import { z } from 'zod';
import type { CertUpload, CertView } from '../../credentials/certs.ts';
import type { ConfigView, ShownCert } from '../../credentials/configs.ts';
import type { Download } from '../../credentials/download-certs.ts';
import type { PublicChannel } from '../../credentials/status.ts';
import { InvalidRequest } from '../../errors.ts';
import { type Caller, type Page, Reply } from '../../http/contract.ts';
import { UploadedFile } from '../../http/uploads.ts';
import { type ChannelKind, MODES, PAY_WAYS, type ProbeResult, SCENES } from '../../payments/channel.ts';
import type { Language } from '../../pages/language.ts';
import type { ShownRefusal } from '../../payments/notification-refusal.ts';
import { Code, Id, SafeText, Timestamp } from './fields.ts';

const DAY = 86_400_000;

export const PayWayName = z.enum(PAY_WAYS).meta({ id: 'PayWay' });

export const ModeName = z.enum(MODES).meta({ id: 'Mode' });

const StatusWord = z.enum(['up', 'degraded', 'down', 'disabled', 'unconfigured']).meta({ id: 'ChannelStatus' });

export const ByPayWay = z.object({ payWay: PayWayName });

export const ByCertId = z.object({ id: z.uuid() });

/** Without `project`, the object that the path names by its id may be in any project. */
export const MaybeInProject = z.object({ project: Code.optional() });

export const PublicChannelEntry = z
  .object({
    payWay: PayWayName,
    name: z.string(),
    enabled: z.boolean(),
    configured: z.boolean(),
    mode: ModeName.nullable(),
    status: StatusWord,
    lastSuccessAt: Timestamp.nullable(),
  })
  .meta({ id: 'PublicChannel' });

/** A PEM certificate is sent in a field whose name is the kind of the certificate. */
export const ConfigBody = z.looseObject({ mode: ModeName.optional() }).meta({
  id: 'ChannelConfigChange',
  description:
    'The field names are those of the configuration schema of the channel. A field that is omitted or `***` keeps its value, null clears it. A PEM text under the name of a certificate kind becomes the default certificate of that kind.',
});

export const OwnConfigBody = ConfigBody.refine(hasNoProject, {
  path: ['project'],
  message: 'must be omitted, because the token determines the project',
});

const UsedCertificate = z
  .object({
    id: Id,
    kind: z.string(),
    name: z.string(),
    serialNumber: z.string().nullable(),
    fingerprint: z.string(),
    notAfter: Timestamp.nullable(),
    daysLeft: z.int().nullable(),
  })
  .meta({ id: 'UsedCertificate' });

const ToRegister = z
  .object({
    name: z.string(),
    where: z.string().describe('Place in the console of the channel where the values are entered.'),
    values: z
      .array(z.string())
      .describe(
        'The exact values to register. Empty if the value is not a URL of this service; then `note` describes the value.',
      ),
    scenes: z.array(z.enum(SCENES)),
    by: z
      .enum(['hand', 'payctl'])
      .describe(
        '`hand`: an administrator registers it in the console of the channel. `payctl`: `payctl channel set` registers it.',
      ),
    note: z.string().nullable(),
  })
  .meta({ id: 'ChannelRegistration' });

export const RefusedNotices = z
  .object({
    why: z.string().describe('Stable code of the reason, the same as in the metric `channel_notices_refused_total`.'),
    detail: z.string().describe('Error text of the last refused notification.'),
    change: z.string().describe('Advice: the change that lets the service accept the next notification.'),
    count: z
      .int()
      .describe(
        'Minimum number of notifications that were refused for this reason, each at most a day after the previous one. The number is stored every five seconds, so the latest ones may be missing.',
      ),
    since: Timestamp.describe('Time of the first of these notifications.'),
    at: Timestamp.describe('Time of the last of these notifications.'),
    isOpen: z
      .boolean()
      .describe(
        'Whether the problem may still exist. False if the last refused notification is more than a day old. Also false if any client could have sent the refused notifications and a verified notification arrived later.',
      ),
  })
  .meta({ id: 'RefusedNotices' });

export const ChannelConfig = z
  .object({
    project: Code,
    payWay: PayWayName,
    name: z.string(),
    configured: z.boolean(),
    enabled: z.boolean(),
    mode: ModeName.nullable(),
    account: z.string().nullable(),
    version: z.int().nullable(),
    fields: z.record(z.string(), z.string()).describe('Values by field name; secret values are shown as `***`.'),
    fingerprints: z
      .record(z.string(), z.string())
      .describe('Fingerprint of each secret field: a part of the hash, and the last characters of the value.'),
    certificates: z
      .array(UsedCertificate)
      .describe('The certificates of this version, the default of each kind first.'),
    untrusted: z
      .array(UsedCertificate)
      .describe(
        'Certificates and keys that are to verify channel messages, but are not used until an administrator trusts them.',
      ),
    missing: z.array(z.string()),
    ofOtherAccounts: z
      .array(UsedCertificate.extend({ mode: ModeName.nullable(), account: z.string().nullable() }))
      .describe(
        'Certificates and keys of the missing kinds that were uploaded for another mode or account. They are not used for this one.',
      ),
    registrations: z.array(ToRegister).describe('Values that must be registered at the channel for the scenes in use.'),
    status: StatusWord,
    fault: z
      .string()
      .nullable()
      .describe(
        'Reason why the stored secrets cannot be decrypted, shown to administrators only; null = none. While it is set, `status` is `down`.',
      ),
    lastSuccessAt: Timestamp.nullable(),
    lastFailureAt: Timestamp.nullable(),
    lastFailure: z.string().nullable(),
    lastNoticeAt: Timestamp.nullable().describe('Time of the last verified notification, to the minute.'),
    refusedNotices: RefusedNotices.nullable().describe(
      'Notifications that were refused since the configuration was created, for the latest reason; null = none.',
    ),
    updatedAt: Timestamp.nullable(),
    updatedBy: z.string().nullable(),
  })
  .meta({ id: 'ChannelConfig' });

export const ConfigSchema = z
  .object({
    payWay: PayWayName,
    name: z.string(),
    modes: z.array(ModeName),
    fields: z.array(
      z.object({
        name: z.string(),
        label: z.string(),
        secret: z.boolean(),
        requiredIn: z.array(ModeName),
        pattern: z.string().nullable(),
        help: z.string(),
      }),
    ),
    certKinds: z.array(
      z.object({
        kind: z.string(),
        label: z.string(),
        form: z.string(),
        verifies: z
          .boolean()
          .describe(
            'Whether it verifies messages of the channel. If so, it is used only while an administrator trusts it.',
          ),
        help: z.string(),
      }),
    ),
    needed: z.partialRecord(ModeName, z.array(z.string())).describe('Fields and certificates that each mode requires.'),
  })
  .meta({ id: 'ChannelConfigSchema' });

export const TestBody = z
  .object({
    products: z
      .union([z.literal('all'), z.array(z.enum(SCENES)).min(1).max(SCENES.length)])
      .optional()
      .describe(
        'Scenes whose products are tested with small orders that cannot be paid; `all` = every scene of the channel.',
      ),
  })
  .optional()
  .meta({ id: 'ChannelTestWish' });

const ChannelCheck = z
  .object({
    about: z.enum(['credential', 'product', 'notifications']),
    name: z.string(),
    status: z
      .enum(['ok', 'failed', 'lacking', 'unproven'])
      .describe(
        '`lacking`: missing, but not every merchant needs it. `unproven`: not tested, because no harmless request can test it or because an earlier check failed.',
      ),
    field: z.string().nullable().describe('The field or certificate kind to change.'),
    code: z.string().nullable().describe('Error code of the channel or of this service.'),
    message: z.string().nullable(),
    supportId: z.string().nullable().describe('Request number to give to the support of the channel.'),
  })
  .meta({ id: 'ChannelCheck' });

/** The result of registering for a channel's notifications. A certificate download has the same fields. */
export const Verdict = z
  .object({
    ok: z.boolean(),
    field: z.string().nullable(),
    code: z.string().nullable(),
    message: z.string().nullable(),
  })
  .meta({ id: 'ChannelVerdict' });

export const DownloadAnswer = z
  .object({
    ...Verdict.shape,
    certificates: z.array(
      z.object({
        id: Id,
        kind: z.string(),
        serialNumber: z.string().nullable(),
        notAfter: Timestamp.nullable(),
        daysLeft: z.int().nullable(),
        isNew: z.boolean().describe('False if it was already stored and stays unchanged.'),
        trust: z.enum(['trusted', 'waiting', 'distrusted', 'deleted']).nullable(),
      }),
    ),
    byHand: z
      .string()
      .nullable()
      .describe(
        'Item that must be obtained manually, because the channel does not offer it for download; null = none.',
      ),
  })
  .meta({ id: 'DownloadedCertificates' });

export const ProbeAnswer = z
  .object({
    ok: z.boolean(),
    field: z.string().nullable(),
    code: z.string().nullable(),
    message: z
      .string()
      .nullable()
      .describe(
        'Error text. If `ok` is true: names what is missing but not needed by every merchant, such as a payment product.',
      ),
    checks: z.array(ChannelCheck).describe('Result for each credential, product and webhook that was checked.'),
    registrations: z
      .array(ToRegister)
      .describe('Values that must be registered at the channel. The test cannot verify them.'),
  })
  .meta({ id: 'ChannelTest' });

/** A certificate or key in a response; the private part is never included. */
export const Certificate = z
  .object({
    id: Id,
    project: Code,
    payWay: PayWayName,
    kind: z.string(),
    name: z.string(),
    subject: z.string().nullable(),
    issuer: z.string().nullable(),
    serialNumber: z.string().nullable(),
    fingerprint: z.string().describe('SHA-256 of the public key, or of the certificates of the file.'),
    notBefore: Timestamp.nullable(),
    notAfter: Timestamp.nullable(),
    daysLeft: z.int().nullable(),
    isDefault: z.boolean(),
    mode: ModeName.nullable().describe(
      'The only mode in which it is used, and only for `account`; null until the first configuration uses it.',
    ),
    account: z.string().nullable(),
    trust: z
      .enum(['trusted', 'waiting', 'distrusted'])
      .nullable()
      .describe(
        'Whether an administrator trusts it to verify messages of the channel; only a trusted one is used. null if its kind verifies nothing.',
      ),
    trustedAt: Timestamp.nullable(),
    trustedBy: z
      .string()
      .nullable()
      .describe('Administrator who trusted it or, if it is distrusted, who withdrew the trust.'),
    createdBy: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Certificate' });

export const CertUploadBody = z
  .object({
    payWay: PayWayName,
    kind: z.string().regex(/^[a-z0-9_]{1,64}$/),
    name: SafeText(1, 128).optional(),
    passphrase: z.string().max(1024).optional(),
    mode: ModeName.optional().describe(
      'Mode in which it is used; send it together with `account`. If both are omitted, it is used in the mode and for the account of the current configuration.',
    ),
    account: SafeText(1, 128)
      .optional()
      .describe('Account for which it is used: app id, merchant number or client id.'),
    file: UploadedFile.optional(),
    content: z.string().optional(),
  })
  .meta({ id: 'CertificateUpload' });

export const CertFilter = z
  .object({ payWay: PayWayName.optional(), kind: z.string().max(64).optional() })
  .optional()
  .meta({ id: 'CertificateFilter' });

/** Converts a channel to the form that the API returns without authentication. */
export function presentPublicChannel(channel: PublicChannel): z.input<typeof PublicChannelEntry> {
  return { ...channel, lastSuccessAt: iso(channel.lastSuccessAt) };
}

/** Converts a channel configuration to the form in which the API returns it. */
export function presentConfig(
  view: ConfigView,
  now: Date,
  reader: Caller,
  language: Language = 'en',
): z.input<typeof ChannelConfig> {
  const used = ({ id, kind, name, serialNumber, fingerprint, notAfter }: ShownCert) => {
    return { id, kind, name, serialNumber, fingerprint, notAfter: iso(notAfter), daysLeft: daysLeft(notAfter, now) };
  };
  return {
    ...view,
    fault: reader.kind === 'admin' ? view.fault : null,
    certificates: view.certificates.map(used),
    untrusted: view.untrusted.map(used),
    ofOtherAccounts: view.ofOtherAccounts.map(({ mode, account, ...cert }) => ({ ...used(cert), mode, account })),
    registrations: presentRegistrations(view),
    lastSuccessAt: iso(view.lastSuccessAt),
    lastFailureAt: iso(view.lastFailureAt),
    lastNoticeAt: iso(view.lastNoticeAt),
    refusedNotices: presentRefused(view.refusedNotices, language),
    updatedAt: iso(view.updatedAt),
  };
}

/** Converts the summary of refused notifications to the form in which the API returns it. */
export function presentRefused(
  refused: ShownRefusal | null,
  language: Language,
): z.input<typeof RefusedNotices> | null {
  if (!refused) return null;
  const { change, since, at } = refused;
  return { ...refused, change: change[language], since: since.toISOString(), at: at.toISOString() };
}

/** Converts the list of fields that a channel configuration may have to the form in which the API returns it. */
export function presentSchema(kind: ChannelKind): z.input<typeof ConfigSchema> {
  const { payWay, name, modes, fields, certKinds } = kind;
  return {
    payWay,
    name,
    modes: [...modes],
    fields: fields.map(({ pattern, requiredIn, ...field }) => {
      return { ...field, requiredIn: [...requiredIn], pattern: pattern?.source ?? null };
    }),
    certKinds: [...certKinds],
    needed: Object.fromEntries(modes.map((mode) => [mode, kind.missing(mode, {}, new Set())])),
  };
}

/** Converts the result of a certificate download to the form in which the API returns it. */
export function presentDownload(download: Download, now: Date): z.input<typeof DownloadAnswer> {
  if (!download.ok) return { ...download, certificates: [], byHand: null };
  const certificates = download.certs.map(({ notAfter, ...cert }) => {
    return { ...cert, notAfter: iso(notAfter), daysLeft: daysLeft(notAfter, now) };
  });
  return { ok: true, field: null, code: null, message: null, certificates, byHand: download.byHand };
}

function presentRegistrations({ registrations }: Pick<ConfigView, 'registrations'>): z.input<typeof ToRegister>[] {
  return registrations.map(({ values, scenes, ...rest }) => ({ ...rest, values: [...values], scenes: [...scenes] }));
}

/** Converts the result of registering for a channel's notifications to the form in which the API returns it. */
export function presentVerdict(result: ProbeResult): z.input<typeof Verdict> {
  if (result.ok) return { ok: true, ...(result.note ?? { field: null, code: null, message: null }) };
  const { field, code, message } = result;
  return { ok: false, field, code, message };
}

/** Converts the result of a configuration test to the form in which the API returns it. */
export function presentProbe(
  result: ProbeResult,
  config: Pick<ConfigView, 'registrations'>,
): z.input<typeof ProbeAnswer> {
  const checks = [...(result.checks ?? [])];
  return { ...presentVerdict(result), checks, registrations: presentRegistrations(config) };
}

/** Converts a certificate or key to the form in which the API returns it. */
export function presentCert(row: CertView, now: Date): z.input<typeof Certificate> {
  const { notBefore, notAfter, trustedAt, createdAt } = row;
  const times = { notBefore: iso(notBefore), notAfter: iso(notAfter), trustedAt: iso(trustedAt) };
  return { ...row, ...times, createdAt: createdAt.toISOString(), daysLeft: daysLeft(notAfter, now) };
}

/** The uploaded file, from `file` or `content`; throws 400 unless exactly one was sent. */
export function uploadOf({ file, content, ...about }: z.output<typeof CertUploadBody>): CertUpload {
  if ((file === undefined) === (content === undefined))
    throw new InvalidRequest('Send exactly one of file and content.', [
      { pointer: file ? '/content' : '/file', code: 'one_of', detail: 'exactly one of file and content is required' },
    ]);
  const { payWay, kind, name, passphrase, mode, account } = about;
  if ((mode === undefined) !== (account === undefined)) {
    const [pointer, detail] = mode ? ['/account', 'is required with mode'] : ['/mode', 'is required with account'];
    throw new InvalidRequest(`${pointer.slice(1)} ${detail}.`, [{ pointer, code: 'required', detail }]);
  }
  const bytes = file?.bytes ?? Buffer.from(content ?? '', 'utf8');
  const of = mode && account ? { mode, account } : undefined;
  return { payWay, kind, name, passphrase, of, bytes, pointer: file ? '/file' : '/content' };
}

/** The public part as a file; its name contains no user input. */
export function downloadOf({ kind, id, publicPem }: CertView): Reply<unknown> {
  const name = `${kind.replaceAll(/[^a-z0-9_]/g, '')}-${id.slice(0, 8)}.pem`;
  const headers = {
    'content-type': 'application/x-pem-file',
    'content-disposition': `attachment; filename="${name}"`,
  };
  return new Reply({ body: publicPem ?? '', headers });
}

/** Puts a complete list into a single page. */
export function wholePage<T>(data: readonly T[]): Page<T> {
  return { data, page: { nextCursor: null, hasMore: false } };
}

function hasNoProject(body: object): boolean {
  return !('project' in body) || body.project === undefined;
}

function daysLeft(notAfter: Date | null, now: Date): number | null {
  return notAfter && Math.floor((notAfter.getTime() - now.getTime()) / DAY);
}

function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
