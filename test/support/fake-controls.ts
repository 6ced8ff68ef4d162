/** A refund that waits for a second administrator, as the fake service shows it. */
export const approvalRow = {
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
export const limitRow = {
  currency: 'CNY',
  limit: 'perDay',
  allowed: 1000,
  used: 120,
  left: 880,
  resetsAt: '2026-11-21T16:00:00.000Z',
};

/** What a service in which nothing is wrong says of itself. */
export const diagnosisRow = {
  production: false,
  consoleOpen: true,
  explorer: true,
  clockAheadSeconds: 0,
  due: [],
  failingWebhooks: [],
  silentNotices: [],
};
