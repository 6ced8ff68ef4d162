import { listOf } from './list.ts';

/** A refund that waits for a second administrator, as the fake service shows it. */
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

/** A limit of an application, as the fake service shows it. */
const limitRow = {
  currency: 'CNY',
  limit: 'perDay',
  allowed: 1000,
  used: 120,
  left: 880,
  resetsAt: '2026-11-21T16:00:00.000Z',
};

/** A line of the audit log, as the fake service shows it. */
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

/** What a service in which nothing is wrong says of itself. */
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

/** What the fake service answers about approvals, limits and the audit log. */
export const controlSamples: [RegExp, () => unknown][] = [
  [/^\/api\/v1\/api-apps\/[^/]+\/limits$/, () => ({ data: [limitRow] })],
  [/^\/api\/v1\/diagnosis$/, () => ({ data: diagnosisRow })],
  [/^\/api\/v1\/approvals$/, () => listOf(approvalRow)],
  [/^\/api\/v1\/approvals\//, () => ({ data: approvalRow })],
  [/^\/api\/v1\/audit-log\/export$/, () => 'id\n'],
  [/^\/api\/v1\/audit-log$/, () => listOf(auditRow)],
];
