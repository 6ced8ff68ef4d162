import { hash } from 'node:crypto';
import { z } from 'zod';
import { NotFound } from '../errors.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { type Choice, type PageAssets, payerPage, type Place, unknownOrderPage } from '../pages/payer-page.ts';
import { PAYER_SCRIPT } from '../pages/payer-script.ts';
import { PAYER_STYLE } from '../pages/payer-style.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import type { PayerOrder } from '../payments/payer.ts';
import type { PayerChoice } from '../payments/payer-choice.ts';
import { type RouteGroup, routeGroup } from './index.ts';
import { Code } from './wire/fields.ts';

/** What the payer's pages ask of the service. */
export interface PayerOperations {
  order(orderNo: string): Promise<PayerOrder | undefined>;
  addressOf(orderNo: string): Promise<string | undefined>;
  returned(payWay: PayWay, orderNo: string, token: string | undefined): Promise<PayerOrder | undefined>;
}

/** What anyone who knows the number may learn of an order. */
export const PayerStatus = z
  .object({
    state: z
      .enum([
        'preparing',
        'waiting',
        'declined',
        'confirming',
        'ending',
        'paid',
        'partially_refunded',
        'refunded',
        'returning',
        'not_returned',
        'closed',
        'expired',
        'failed',
        'refused',
      ])
      .describe('The state shown to the payer; only `waiting` and `declined` can be paid.'),
    secondsLeft: z.int().min(0).describe('Whole seconds until the order can no longer be paid.'),
  })
  .meta({ id: 'PayerStatus' });

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const assets: PageAssets = {
  style: `/pay/assets/payer.css?v=${digest(PAYER_STYLE)}`,
  script: `/pay/assets/payer.js?v=${digest(PAYER_SCRIPT)}`,
};

/** The pages that payers see: the payment page, the page behind the channel, and the small state that they poll. */
export function payerRoutes({ order, addressOf, returned }: PayerOperations, choice: PayerChoice): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /pay/{orderNo}:
   *   get:
   *     tags: [Payer pages]
   *     summary: Payment page
   *     description: HTML page for the payer with a QR code or button, the amount, the time left and the current state.
   */
  router.get(
    '/pay/:orderNo',
    endpoint(
      {
        auth: 'none',
        params: z.object({ orderNo: z.string() }),
        query: z.object({
          payWay: z.string().optional().describe('The channel that the payer wants, where the order offers several.'),
        }),
        ...htmlPage,
      },
      async ({ params: { orderNo }, query }) => {
        const found = await readable(orderNo, order);
        const next = found && (await choice.successor(orderNo));
        if (next !== undefined) return goTo(next);
        const others = found ? await choice.others(orderNo) : [];
        return page(found, 'pay', { others, wanted: others.find((name) => name === query.payWay) });
      },
    ),
  );

  /**
   * @openapi
   * /pay/{orderNo}/choose/{payWay}:
   *   post:
   *     tags: [Payer pages]
   *     summary: Choose the channel
   *     description: >-
   *       The payer takes another channel that the order offers: the order is closed, and the browser is sent to the order that takes
   *       its place. Nothing changes when the order has been paid, or does not offer the channel.
   */
  router.post(
    '/pay/:orderNo/choose/:payWay',
    endpoint(
      { auth: 'none', params: z.object({ orderNo: z.string(), payWay: z.string() }), ...htmlPage },
      async ({ params }) => {
        const payWay = PAY_WAYS.find((name) => name === params.payWay);
        const found = payWay && (await readable(params.orderNo, order));
        return found ? goTo(await choice.choose(found.orderNo, payWay)) : page(undefined, 'pay');
      },
    ),
  );

  /**
   * @openapi
   * /pay/{orderNo}/state:
   *   get:
   *     tags: [Payer pages]
   *     summary: Payment state for the payer
   *     description: What the payment page polls. Reads the stored state only; the channel is not asked.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 state: waiting
   *                 secondsLeft: 7140
   */
  router.get(
    '/pay/:orderNo/state',
    endpoint({ auth: 'none', params: z.object({ orderNo: Code }), returns: PayerStatus }, async ({ params }) => {
      const found = await order(params.orderNo);
      if (!found) throw new NotFound('order');
      return new Reply({ data: found, headers: { 'cache-control': 'no-store' } });
    }),
  );

  router.get(
    '/pay/:orderNo/open',
    endpoint({ ...asset, params: z.object({ orderNo: Code }) }, async ({ params: { orderNo } }) => {
      const location = (await addressOf(orderNo)) ?? `/pay/${orderNo}`;
      // The browser goes on with the origin of the page that it came from, if the answer lets it.
      const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'origin' };
      return new Reply({ status: 303, headers, body: '' });
    }),
  );

  /**
   * @openapi
   * /return/{payWay}/{orderNo}:
   *   get:
   *     tags: [Payer pages]
   *     summary: Return page
   *     description: >-
   *       Where the channel returns the payer to. Nothing in the URL is trusted: the page queries the channel and
   *       shows the result. Parameters added by the channel are ignored.
   */
  router.get(
    '/return/:payWay/:orderNo',
    endpoint(
      {
        auth: 'none',
        params: z.object({ payWay: z.string(), orderNo: z.string() }),
        query: z.object({
          token: z.string().optional().describe("PayPal's order id."),
          cancelled: z.string().optional(),
        }),
        ...htmlPage,
      },
      async ({ params, query }) => {
        const payWay = PAY_WAYS.find((name) => name === params.payWay);
        const token = query.cancelled === undefined ? query.token : undefined;
        const found = payWay && (await readable(params.orderNo, (orderNo) => returned(payWay, orderNo, token)));
        // Loading this address again would tell of another approval, and the payer has to read what to do.
        if (found?.state === 'declined')
          return new Reply({
            status: 303,
            headers: { location: `/pay/${found.orderNo}`, 'content-type': 'text/html; charset=utf-8' },
            body: '',
          });
        return page(found, query.cancelled === undefined ? 'returned' : 'cancelled');
      },
    ),
  );

  router.get(
    '/pay/assets/payer.css',
    endpoint(asset, () => file('text/css', PAYER_STYLE)),
  );
  router.get(
    '/pay/assets/payer.js',
    endpoint(asset, () => file('text/javascript', PAYER_SCRIPT)),
  );
  return router;
}

const asset = { auth: 'none', raw: 'stream', hidden: true } as const;

/** A page, also for an order that nobody knows. */
const htmlPage = {
  raw: 'html',
  answers: { 200: { 'text/html': 'text' }, 303: { 'text/html': 'text' }, 404: { 'text/html': 'text' } },
} as const;

/** A number that no order can have is looked up nowhere, and gets the same page. */
async function readable(
  orderNo: string,
  read: (orderNo: string) => Promise<PayerOrder | undefined>,
): Promise<PayerOrder | undefined> {
  return Code.safeParse(orderNo).success ? read(orderNo) : undefined;
}

/** To the page of another order, always with GET. */
function goTo(orderNo: string): Reply {
  const headers = {
    location: `/pay/${orderNo}`,
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
  };
  return new Reply({ status: 303, headers, body: '' });
}

async function page(order: PayerOrder | undefined, place: Place, choice?: Choice): Promise<Reply> {
  return new Reply({
    status: order ? 200 : 404,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'cache-control': 'no-store',
      // WeChat Pay wants to know from which domain its payers come.
      'referrer-policy': order?.payWay === 'wechat' ? 'origin' : 'no-referrer',
    },
    body: order ? await payerPage(order, place, assets, choice) : unknownOrderPage(assets),
  });
}

function file(type: string, body: string): Reply {
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
  };
  return new Reply({ headers, body });
}

/** In the address of a file that may be kept for ever: another text has another address. */
function digest(text: string): string {
  return hash('sha256', text).slice(0, 12);
}
