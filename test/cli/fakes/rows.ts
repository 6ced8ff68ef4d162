import { generateKeyPairSync, sign } from 'node:crypto';
import { billSamples } from './bills.ts';
import { identitySamples } from './identity.ts';
import { listOf, type Row, type Seen } from './list.ts';

export type { Seen } from './list.ts';

const appRow: Row = {
  client_id: 'app_7Kd2mQxW9bTzR4vLp1Ns',
  name: 'shop',
  project: 'default',
  scopes: ['payment:write', 'payment:read'],
  enabled: true,
  allowedIps: [],
  rateLimit: 0,
  trusted: false,
  remark: null,
  secretHint: 'pays_…9xQ2',
  createdAt: '2026-11-20T10:00:00.000Z',
  lastUsedAt: '2026-11-21T05:00:00.000Z',
};

/** A client secret in a valid format. */
export const SECRET = 'pays_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v';

/** A paid order. */
export const orderRow: Row = {
  orderNo: 'P202611210558007K2MQX9WBT',
  merchantOrderNo: 'm-1',
  project: 'default',
  clientId: 'app_7Kd2mQxW9bTzR4vLp1Ns',
  mode: 'simulator',
  subject: '红茶 Tea',
  payWay: 'alipay',
  amount: 100,
  amountMinor: 10_000,
  currency: 'CNY',
  status: 'paid',
  exception: null,
  refundedAmount: 0,
  refundableAmount: 100,
  refundsBlockedBy: null,
  channelTradeNo: '2026112122001400001',
  refunds: [],
  createdAt: '2026-11-21T05:58:00.000Z',
  paidAt: '2026-11-21T05:59:00.000Z',
};

const refundRow: Row = {
  refundNo: 'R20261121060100D4N8ZR3VHC',
  orderNo: orderRow['orderNo'],
  refundAmount: 40,
  currency: 'CNY',
  status: 'succeeded',
  refundedAmount: 40,
  refundableAmount: 60,
  refundsBlockedBy: null,
  reason: null,
  createdAt: '2026-11-21T06:01:00.000Z',
};

const disputeRow: Row = {
  disputeNo: 'D20261121060100D4N8ZR3VHC',
  orderNo: orderRow['orderNo'],
  payWay: 'paypal',
  amount: 40,
  currency: 'USD',
  status: 'needs_answer',
  reason: 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED',
  dueAt: '2026-12-01T06:00:00.000Z',
  openedAt: '2026-11-21T06:00:00.000Z',
};

const exceptionRow: Row = {
  id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
  kind: 'amount_mismatch',
  orderNo: orderRow['orderNo'],
  refundNo: null,
  status: 'open',
  createdAt: '2026-11-21T06:00:00.000Z',
  detail: 'received 99.00',
};
const stepRow: Row = {
  at: '2026-11-21T05:58:00.000Z',
  kind: 'move',
  summary: 'placed – → created',
  detail: { cause: 'pay' },
};
const tradeRow: Row = {
  orderNo: orderRow['orderNo'],
  payWay: 'alipay',
  state: 'paid',
  currency: 'CNY',
  minor: 10_000,
  account: 'default',
};
const placed: Row = {
  ...orderRow,
  status: 'pending',
  paidAt: null,
  payment: { type: 'qr', qrCode: 'https://qr.alipay.com/bax0001', expiresAt: '2026-11-21T07:58:00.000Z' },
  payUrl: 'http://127.0.0.1:8080/pay/P202611210558007K2MQX9WBT',
};
const channelRow: Row = {
  payWay: 'alipay',
  name: 'Alipay',
  enabled: true,
  configured: true,
  mode: 'simulator',
  status: 'up',
  lastSuccessAt: '2026-11-21T05:59:00.000Z',
};

const configRow: Row = {
  payWay: 'alipay',
  project: 'default',
  mode: 'simulator',
  enabled: true,
  configured: true,
  version: 3,
  appPrivateKey: '***',
  updatedAt: '2026-11-20T10:00:00.000Z',
};
/** The configuration schema of a channel without certificates. */
export const schema: Row = {
  payWay: 'alipay',
  modes: ['simulator', 'sandbox', 'live'],
  fields: [
    { name: 'appId', label: 'App ID', secret: false, requiredIn: ['live'], pattern: '^\\d{4,32}$', help: 'Digits.' },
    { name: 'clientId', label: 'Client ID', secret: false, requiredIn: [], pattern: null, help: '' },
    { name: 'key', label: 'Key', secret: true, requiredIn: [], pattern: null, help: '' },
  ],
};
const certRow: Row = {
  id: '01935b2e-7c41-7a90-9d3f-5f0c2b6e8a17',
  project: 'default',
  payWay: 'alipay',
  kind: 'alipay_app_cert',
  name: 'app',
  subject: 'CN=shop',
  serialNumber: '0A',
  fingerprint: '5f'.repeat(32),
  daysLeft: 300,
  isDefault: true,
  trust: 'trusted',
  trustedBy: 'alice',
  trustedAt: '2026-11-20T10:00:00.000Z',
  createdBy: 'alice',
};
const userRow: Row = {
  userId: 'u-1',
  nickname: 'Anna',
  status: 'active',
  project: 'default',
  phone: null,
  createdAt: '2026-11-20T10:00:00.000Z',
};
const productRow: Row = {
  code: 'tea',
  kind: 'goods',
  name: 'Tea',
  price: 12.5,
  currency: 'CNY',
  stock: 100,
  enabled: true,
  version: 1,
};
const skillRow: Row = {
  outTradeNo: 'X202611210558007K2MQX9WBT',
  resource: 'weather',
  status: 'paid',
  fulfilment: 'done',
  amount: 0.1,
  currency: 'CNY',
};

/** One event of the log. */
export const eventRow: Row = {
  id: 'evt_5f0c2b6e8a179d3f01935b2e',
  type: 'order.paid',
  createdAt: '2026-11-21T05:59:00.000Z',
  sequence: 7,
  data: { object: { orderNo: 'P202611210558007K2MQX9WBT' } },
};

const keys = generateKeyPairSync('ed25519');
const signingKeys = [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k-1' }];

/** A payment code that the fake service signed. */
export function signedCode(claims: Row, header: Row = { alg: 'EdDSA', typ: 'pay-code+jws', kid: 'k-1' }): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign(null, Buffer.from(text), keys.privateKey).toString('base64url')}`;
}

/** A signing secret in a valid format. */
export const HOOK_SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3';

/** The webhook of an application. */
export const webhookRow: Row = {
  clientId: 'app_7Kd2mQxW9bTzR4vLp1Ns',
  url: 'https://shop.example/hooks',
  types: [],
  enabled: true,
  disabledReason: null,
  previousSecretExpiresAt: null,
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

/** A failed delivery. */
export const deliveryRow: Row = {
  id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c53',
  eventId: 'evt_5f0c2b6e8a179d3f01935b2e',
  type: 'order.paid',
  target: 'webhook',
  url: 'https://shop.example/hooks',
  state: 'failed',
  attempts: 12,
  nextAttemptAt: null,
  lastStatus: 500,
  lastError: null,
  createdAt: '2026-11-21T05:59:00.000Z',
  finishedAt: '2026-11-21T06:00:00.000Z',
  tries: [],
};

const webhookSamples: [RegExp, (request: Seen) => unknown][] = [
  [/\/webhook\/rotate-secret$/, () => ({ data: { ...webhookRow, secret: HOOK_SECRET } })],
  [
    /\/webhook\/test$/,
    () => ({ data: { ...deliveryRow, target: 'test', type: 'webhook.test', state: 'delivered', lastStatus: 204 } }),
  ],
  [/\/webhook\/deliveries$/, () => listOf(deliveryRow)],
  [
    /^\/api\/(v1\/api-apps\/[^/]+|v2)\/webhook$/,
    ({ body }) => ({ data: { ...webhookRow, ...(body as Row | undefined) } }),
  ],
];

/** A refund that waits for approval by a second administrator. */
const approvalRow = {
  refundNo: 'R1',
  orderNo: 'P1',
  clientId: 'app_1',
  project: 'default',
  refundAmount: 1200,
  refundAmountMinor: 120_000,
  currency: 'CNY',
  reason: 'Returned',
  askedBy: 'admin:alice',
  state: 'waiting',
  decidedBy: null,
  decision: null,
  createdAt: '2026-11-21T06:00:00.000Z',
  decidedAt: null,
};

const limitRow = {
  currency: 'CNY',
  limit: 'perDay',
  allowed: 1000,
  used: 120,
  left: 880,
  resetsAt: '2026-11-21T16:00:00.000Z',
};

const auditRow = {
  id: '812',
  at: '2026-11-21T06:00:00.000Z',
  actorKind: 'admin',
  actor: 'alice',
  action: 'app.create',
  target: 'app_1',
  before: null,
  after: { name: 'shop' },
  ip: '192.0.2.7',
  requestId: '3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44',
  previousHash: 'b'.repeat(64),
  hash: 'a'.repeat(64),
};

/** The diagnosis of a healthy service. */
export const diagnosisRow = {
  production: false,
  consoleOpen: true,
  explorer: true,
  listensElsewhere: null,
  secondFactors: { required: false, administrators: 3, without: 2 },
  clockAheadSeconds: 0,
  due: [],
  failingWebhooks: [],
  approvers: null,
  silentNotices: [],
};

const controlSamples: [RegExp, () => unknown][] = [
  [/^\/api\/v1\/api-apps\/[^/]+\/limits$/, () => ({ data: [limitRow] })],
  [/^\/api\/v1\/diagnosis$/, () => ({ data: diagnosisRow })],
  [/^\/api\/v1\/approvals$/, () => listOf(approvalRow)],
  [/^\/api\/v1\/approvals\//, () => ({ data: approvalRow })],
  [/^\/api\/v1\/audit-log\/export$/, () => 'id\n'],
  [/^\/api\/v1\/audit-log$/, () => listOf(auditRow)],
];

/** Responses by path; `true` means that a POST there creates (201). */
export const samples: [RegExp, (request: Seen) => unknown, boolean?][] = [
  [/^\/health/, () => ({ status: 'ok' })],
  ...identitySamples,
  [/^\/api\/v1\/info$/, () => ({ data: { name: 'pay', version: '1.0.0', debug: true, database: 'postgresql' } })],
  [
    /^\/oauth\/token$/,
    () => ({ access_token: 'merchant-token', token_type: 'Bearer', expires_in: 3600, scope: 'payment:write' }),
  ],
  [/^\/api\/v2\/payment\/pay$/, () => ({ data: placed }), true],
  [/^\/api\/v2\/payment\/orders$/, () => listOf(orderRow)],
  [/^\/api\/v2\/payment\/(query|close|capture)\//, () => ({ data: orderRow })],
  [/^\/api\/v2\/payment\/refund$/, () => ({ data: refundRow }), true],
  [/^\/api\/v2\/payment\/refunds$/, () => listOf(refundRow)],
  [/^\/api\/v2\/payment\/refunds\//, () => ({ data: refundRow })],
  [/^\/api\/v2\/payment\/disputes$/, () => listOf(disputeRow)],
  [/^\/api\/v2\/payment\/disputes\//, () => ({ data: disputeRow })],
  [/^\/api\/v2\/events$/, () => listOf(eventRow)],
  [/^\/oauth\/revoke$/, () => ({})],
  [
    /^\/api\/v1\/payment\/channels$/,
    () => ({ data: ['alipay', 'wechat', 'paypal'].map((payWay) => ({ ...channelRow, payWay })) }),
  ],
  [/^\/api\/v1\/console\/payment\/pay$/, () => ({ data: placed }), true],
  [/^\/api\/v1\/console\/payment\/query\//, () => ({ data: orderRow })],
  [/^\/api\/v1\/console\/payment\/capture\//, () => ({ data: orderRow }), true],
  [
    /^\/api\/v1\/api-apps\/[^/]+\/rotate-secret$/,
    () => ({ data: { client_id: appRow['client_id'], client_secret: SECRET, previousSecretExpiresAt: null } }),
  ],
  [
    /^\/api\/v1\/api-apps$/,
    ({ method, body }) =>
      method === 'POST' ? { data: { ...appRow, ...(body as Row), client_secret: SECRET } } : listOf(appRow),
    true,
  ],
  ...webhookSamples,
  ...controlSamples,
  [/^\/api\/v1\/api-apps\//, merged(appRow)],
  [
    /^\/api\/(?:v1|v2\/payment)\/orders\/[^/]+\/explain$/,
    () => ({
      data: {
        orderNo: orderRow['orderNo'],
        status: 'paid',
        situation: 'paid',
        reason: 'The channel said so.',
        next: { action: 'look again', at: '2026-11-21T07:05:00.000Z' },
        fix: 'payctl order sync P1',
        equation: { currency: 'CNY', paid: 10000, refunded: 0, refunding: 0, kept: 10000, refundable: 10000 },
        refunds: [],
        exceptions: [],
      },
    }),
  ],
  [
    /^\/api\/v1\/(stats\/overview|projects\/[^/]+\/stats)$/,
    () => ({
      data: {
        mode: 'live',
        project: null,
        from: '2026-11-01T00:00:00.000Z',
        to: '2026-11-21T06:05:00.000Z',
        totals: {
          createdOrders: 3,
          paidOrders: 2,
          refunds: 1,
          amounts: [
            { payWay: 'alipay', currency: 'CNY', paidOrders: 2, paidAmount: 200, refunds: 1, refundedAmount: 40 },
          ],
        },
        days: [],
      },
    }),
  ],
  [
    /^\/api\/v1\/books$/,
    () => ({
      data: {
        ok: true,
        proofs: [{ check: 'orders', promise: 'orders = refunds + kept', ok: true, count: 0, examples: [] }],
        auditLog: { lines: 812, tip: 'a'.repeat(64) },
      },
    }),
  ],
  [/^\/api\/v1\/orders\/export$/, () => 'orderNo\n'],
  [/\/orders\/[^/]+\/timeline$/, () => listOf(stepRow)],
  [
    /^\/api\/v1\/orders\/[^/]+\/refunds$/,
    ({ body }) => ({ data: { ...refundRow, refundAmount: Number((body as Row)['refundAmount']) } }),
    true,
  ],
  [/^\/api\/v1\/orders$/, () => listOf(orderRow)],
  [/^\/api\/v1\/orders\//, () => ({ data: orderRow })],
  [/^\/api\/v1\/disputes$/, () => listOf(disputeRow)],
  [/^\/api\/v1\/disputes\//, () => ({ data: disputeRow })],
  ...billSamples,
  [/^\/api\/v1\/refunds$/, () => listOf(refundRow)],
  [/^\/api\/v1\/refunds\//, () => ({ data: refundRow })],
  [/^\/api\/v1\/exceptions$/, () => listOf(exceptionRow)],
  [/^\/api\/v1\/exceptions\//, () => ({ data: { ...exceptionRow, status: 'resolved' } })],
  [/^\/api\/v1\/payment\/config\/list$/, () => listOf(configRow)],
  [/^\/api\/v1\/payment\/config\/[^/]+\/schema$/, () => ({ data: schema })],
  [/^\/api\/v1\/payment\/config\/[^/]+\/(test|notices)$/, () => ({ data: { ok: true } })],
  [/^\/api\/v1\/payment\/config\//, () => ({ data: configRow })],
  [/^\/api\/v1\/certs\/list$/, () => listOf(certRow)],
  [
    /^\/api\/v1\/certs\/[^/]+\/download$/,
    () => ({ data: { content: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' } }),
  ],
  [/^\/api\/v1\/certs\//, () => ({ data: certRow })],
  [/^\/api\/v1\/projects$/, collection({ code: 'shop-eu', name: 'Shop Europe', enabled: true, remark: null }), true],
  [/^\/api\/v1\/projects\//, merged({ code: 'shop-eu', name: 'Shop Europe', enabled: true, remark: null })],
  [/^\/api\/v1\/users$/, collection(userRow), true],
  [/^\/api\/v1\/users\/[^/]+\/orders$/, () => listOf(orderRow)],
  [/^\/api\/v1\/users\/[^/]+\/coins$/, () => listOf({ coin: 'gold', available: 66 })],
  [/^\/api\/v1\/users\//, merged(userRow)],
  [/^\/api\/v1\/products$/, collection(productRow), true],
  [/^\/api\/v1\/products\//, merged(productRow)],
  [/^\/api\/v1\/coins$/, collection({ code: 'gold', name: 'Gold', enabled: true, clawback: 'refuse' }), true],
  [/^\/api\/v1\/coins\/[^/]+\/accounts$/, () => listOf({ userId: 'u-1', available: 66 })],
  [/^\/api\/v1\/coins\/[^/]+\/entries$/, () => listOf({ id: 'e-1', userId: 'u-1', amount: 66 })],
  [/^\/api\/v1\/coins\//, merged({ code: 'gold', name: 'Gold', enabled: true, clawback: 'refuse' })],
  [/^\/api\/v1\/events\/stream$/, () => 'stream'],
  [/^\/api\/v1\/live$/, () => 'live'],
  [/^\/api\/v1\/events$/, () => listOf(eventRow)],
  [/^\/api\/v[12]\/events\//, () => ({ data: eventRow })],
  [/^\/api\/v1\/skillpay\/agent-pay\/test$/, () => ({ data: { ok: true, message: 'PAY_DATA_UNKNOWN' } })],
  [/^\/api\/v1\/skillpay\/agent-pay$/, () => ({ data: { project: 'default', mode: 'live', developerId: 'sh-1' } })],
  [/^\/api\/v1\/stats\/skillpay$/, () => listOf({ resource: 'weather', offered: 3, paid: 2 })],
  [
    /^\/api\/v2\/me$/,
    () => ({ data: { client_id: 'app_1', name: 'shop', project: 'default', scopes: ['payment:read'], mode: 'test' } }),
  ],
  [/^\/api\/v2\/skillpay\/resources$/, () => listOf({ resource: 'weather', price: 0.1, currency: 'CNY' })],
  [/^\/api\/v2\/skillpay\/query\//, () => ({ data: skillRow })],
  [/^\/api\/v2\/skillpay\/resource$/, () => ({ data: { ...skillRow, content: { temperature: 21 } } })],
  [/^\/api\/v2\/skillpay\/refund$/, () => ({ data: refundRow })],
  [/^\/\.well-known\/jwks\.json$/, () => ({ keys: signingKeys })],
  [
    /^\/sim\/ledger$/,
    () => ({
      entries: [
        {
          at: '2026-11-21T05:59:00.000Z',
          type: 'payment',
          payWay: 'alipay',
          account: 'default',
          orderNo: orderRow['orderNo'],
          number: '2026112122001400001',
          minor: 10_000,
        },
      ],
      orders: { one: { ...tradeRow, amount: 10_000, paid: 10_000, refunded: 0 } },
    }),
  ],
  [/^\/sim\/dispute$/, () => ({ id: 'PP-R-1', status: 'OPEN', stage: 'INQUIRY', minor: 4000 })],
  [/^\/sim\/clock$/, () => ({ now: '2026-11-21T07:58:00.000Z' })],
  [
    /^\/sim\/faults$/,
    ({ method, body }) =>
      method === 'POST' ? { id: 'f-1', hits: 0, probability: null, ...(body as Row) } : { faults: [] },
    true,
  ],
  [/^\/sim\/bills(\/b-1)?$/, () => ({ plants: [{ ...tradeRow, id: 'b-2', kind: 'amount_differs' }], conditions: [] })],
  [/^\/sim\/notify$/, () => ({ sent: 1 })],
  [/^\/sim\//, () => tradeRow],
];

function collection(row: Row): (request: Seen) => unknown {
  return ({ method, body }) => (method === 'POST' ? { data: { ...row, ...(body as Row) } } : listOf(row));
}

function merged(row: Row): (request: Seen) => unknown {
  return ({ body }) => ({ data: { ...row, ...(body as Row | undefined) } });
}
