import { listOf, type Row, type Seen } from './list.ts';

/** A signing secret of the right form. */
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

/** A delivery that was given up. */
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

/** What the fake service answers about webhooks. */
export const webhookSamples: [RegExp, (request: Seen) => unknown][] = [
  [/^\/api\/v1\/api-apps\/[^/]+\/webhook\/rotate-secret$/, () => ({ data: { ...webhookRow, secret: HOOK_SECRET } })],
  [
    /^\/api\/v1\/api-apps\/[^/]+\/webhook\/test$/,
    () => ({ data: { ...deliveryRow, target: 'test', type: 'webhook.test', state: 'delivered', lastStatus: 204 } }),
  ],
  [/^\/api\/v1\/api-apps\/[^/]+\/webhook\/deliveries$/, () => listOf(deliveryRow)],
  [/^\/api\/v1\/api-apps\/[^/]+\/webhook$/, ({ body }) => ({ data: { ...webhookRow, ...(body as Row | undefined) } })],
];
