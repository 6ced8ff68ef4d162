import type { ChannelKind } from '../../payments/channel.ts';
import { createAlipay } from './channel.ts';
import { KINDS } from './keys.ts';

/** A payer may open a page, wap or app payment this long after it was made (Alipay: at most 15 days). */
const FIFTEEN_DAYS = 15 * 86_400;

const ALL_MODES = ['simulator', 'sandbox', 'live'] as const;

/** Alipay (open API v2, RSA2): everything the service knows without an account. An app certificate means certificate mode. */
export const alipayKind: ChannelKind = {
  payWay: 'alipay',
  name: 'Alipay',
  modes: ALL_MODES,
  scenes: {
    qr: { type: 'qr', maxSeconds: 7200, needs: [] },
    page: { type: 'redirect', maxSeconds: FIFTEEN_DAYS, needs: [] },
    wap: { type: 'redirect', maxSeconds: FIFTEEN_DAYS, needs: [] },
    app: { type: 'app', maxSeconds: FIFTEEN_DAYS, needs: [] },
  },
  defaultScene: 'qr',
  currencies: ['CNY'],
  defaultCurrency: 'CNY',
  limits: {
    minExpirySeconds: 60,
    maxRefundsPerOrder: null,
    refundSpacingSeconds: 3,
    refundWindowDays: 365,
    refundResendDays: null,
  },
  fields: [
    {
      name: 'appId',
      label: 'App ID',
      secret: false,
      requiredIn: ALL_MODES,
      pattern: /^\d{10,32}$/,
      help: 'The id of the application in the Alipay open platform (16 digits). Orders pin it as their account.',
    },
    {
      name: 'sellerId',
      label: 'Seller ID (PID)',
      secret: false,
      requiredIn: [],
      pattern: /^2088\d{12}$/,
      help: 'The 2088… number of the merchant. When given, it is sent with every order and checked in every notice.',
    },
    {
      name: 'appAuthToken',
      label: 'App authorisation token',
      secret: true,
      requiredIn: [],
      pattern: /^[\w-]{1,64}$/,
      help: 'Only for service providers who act for another merchant.',
    },
  ],
  certKinds: [
    {
      kind: KINDS.appKey,
      label: 'App private key',
      form: 'private-key',
      help: 'Signs requests: RSA, 2048 bits or more, PEM or the bare base64 of the key tool (PKCS #8 or PKCS #1).',
    },
    {
      kind: KINDS.publicKey,
      label: "Alipay's public key",
      form: 'public-key',
      help: "Key mode: verifies answers and notices. It is Alipay's key from the console, not the app's own.",
    },
    {
      kind: KINDS.appCert,
      label: 'App certificate',
      form: 'certificate',
      help: 'Certificate mode: appCertPublicKey_….crt. Its presence switches certificate mode on.',
    },
    {
      kind: KINDS.publicCert,
      label: "Alipay's public certificate",
      form: 'certificate-chain',
      help: 'Certificate mode: alipayCertPublicKey_RSA2.crt. Several may be good at once during a change.',
    },
    {
      kind: KINDS.rootCert,
      label: "Alipay's root certificates",
      form: 'certificate-chain',
      help: 'Certificate mode: alipayRootCert.crt, the whole file.',
    },
  ],
  accountOf: ({ appId = '' }) => appId,
  missing: (mode, fields, kinds) => [
    ...alipayKind.fields.filter(({ name, requiredIn }) => requiredIn.includes(mode) && !fields[name]).map(nameOf),
    ...neededKinds(kinds).filter((kind) => !kinds.has(kind)),
  ],
  create: createAlipay,
};

function neededKinds(kinds: ReadonlySet<string>): string[] {
  const certificateMode = [KINDS.appCert, KINDS.publicCert, KINDS.rootCert];
  return kinds.has(KINDS.appCert) ? [KINDS.appKey, ...certificateMode] : [KINDS.appKey, KINDS.publicKey];
}

function nameOf({ name }: { name: string }): string {
  return name;
}
