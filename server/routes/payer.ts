import { z } from 'zod';
import { CHANNELS } from '../domain.ts';
import { NotFound } from '../errors.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { inLanguage } from '../pages/language.ts';
import {
  type Choice,
  PAYER_SCRIPT,
  PAYER_SCRIPT_PATH,
  type Place,
  type Shown,
  payerPage,
  unknownOrderPage,
} from '../pages/payer-page.ts';
import { STYLE_PATH, STYLESHEET } from '../pages/document.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import type { PayerChoice, PayerOrder, PayerProgress } from '../payments/orders/payer.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { Code } from './schemas/fields.ts';
import { Lang, type PageLanguage, payerLanguage } from './schemas/language.ts';

interface PayerOperations {
  order(orderNo: string): Promise<PayerOrder | undefined>;
  progress(orderNo: string): Promise<PayerProgress | undefined>;
  addressOf(orderNo: string): Promise<string | undefined>;
  returned(payWay: PayWay, orderNo: string, token: string | undefined): Promise<PayerOrder | undefined>;
}

/** The public state of an order, for anyone with its number. */
const PayerStatus = z
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

/** Routes for payers: the payment page, the page to which the channel returns the payer, and the order's state. */
export function payerRoutes(
  { order, progress, addressOf, returned }: PayerOperations,
  choice: PayerChoice,
): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /pay/{orderNo}:
   *   get:
   *     tags: [Payer pages]
   *     operationId: showPaymentPage
   *     summary: Payment page
   *     description: HTML page for the payer. It shows a QR code or a button, the amount, the time left and the current state.
   */
  router.get(
    '/pay/:orderNo',
    endpoint(
      {
        auth: 'none',
        params: z.object({ orderNo: z.string() }),
        query: z.object({
          payWay: z.string().optional().describe('Channel that the payer chose, if the order offers several.'),
          lang: Lang,
        }),
        ...htmlPage,
      },
      async ({ params: { orderNo }, query, request }) => {
        const language = payerLanguage(query.lang, request);
        const found = await readable(orderNo, order);
        const next = found && (await choice.successor(orderNo));
        if (next !== undefined) return goTo(next, language);
        const others = found ? await choice.others(orderNo) : [];
        const wanted = others.find((name) => name === query.payWay);
        const address = `${addressOfPage(orderNo)}${wanted === undefined ? '' : `?payWay=${wanted}`}`;
        return page(found, { place: 'pay', language, address, choice: { others, wanted } });
      },
    ),
  );

  /**
   * @openapi
   * /pay/{orderNo}/choose/{payWay}:
   *   post:
   *     tags: [Payer pages]
   *     operationId: chooseChannel
   *     summary: Choose the channel
   *     description: >-
   *       Called when the payer chooses another channel that the order offers. The order is closed, and the browser is redirected to the
   *       order that replaces it. Nothing changes if the order has been paid or does not offer the channel.
   */
  router.post(
    '/pay/:orderNo/choose/:payWay',
    endpoint(
      {
        auth: 'none',
        params: z.object({ orderNo: z.string(), payWay: z.string() }),
        query: z.object({ lang: Lang }),
        ...htmlPage,
      },
      async ({ params, query, request }) => {
        const language = payerLanguage(query.lang, request);
        const payWay = PAY_WAYS.find((name) => name === params.payWay);
        const found = payWay && (await readable(params.orderNo, order));
        if (found) return goTo(await choice.choose(found.orderNo, payWay), language);
        return page(undefined, { place: 'pay', language, address: addressOfPage(params.orderNo) });
      },
    ),
  );

  /**
   * @openapi
   * /pay/{orderNo}/state:
   *   get:
   *     tags: [Payer pages]
   *     operationId: getPaymentState
   *     summary: Payment state for the payer
   *     description: The payment page polls this operation. It reads only the stored state; the channel is not queried.
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
      const found = await progress(params.orderNo);
      if (!found) throw new NotFound('order');
      return new Reply({ data: found, headers: { 'cache-control': 'no-store' } });
    }),
  );

  router.get(
    '/pay/:orderNo/open',
    endpoint(
      { ...asset, params: z.object({ orderNo: Code }), query: z.object({ lang: Lang }) },
      async ({ params: { orderNo }, query, request }) => {
        const location =
          (await addressOf(orderNo)) ?? inLanguage(addressOfPage(orderNo), payerLanguage(query.lang, request).language);
        // With `referrer-policy: origin`, the browser tells the channel the origin of the payment page. Some channels
        // require the origin.
        const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'origin' };
        return new Reply({ status: 303, headers, body: '' });
      },
    ),
  );

  /**
   * @openapi
   * /return/{payWay}/{orderNo}:
   *   get:
   *     tags: [Payer pages]
   *     operationId: showReturnPage
   *     summary: Return page
   *     description: >-
   *       Page to which the channel returns the payer. Nothing in the URL is trusted, so the page queries the channel and shows the
   *       result. Parameters that the channel adds are ignored.
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
          lang: Lang,
        }),
        ...htmlPage,
      },
      async ({ params, query, request }) => {
        const language = payerLanguage(query.lang, request);
        const payWay = PAY_WAYS.find((name) => name === params.payWay);
        const token = query.cancelled === undefined ? query.token : undefined;
        const found = payWay && (await readable(params.orderNo, (orderNo) => returned(payWay, orderNo, token)));
        // A reload of the current URL would send PayPal's token again and repeat the payer's approval.
        if (found?.state === 'declined') return goTo(found.orderNo, language);
        // Without PayPal's token in `address`, a reload of the page does not repeat the payer's approval.
        const isBack = query.cancelled === undefined;
        const address = `/return/${encodeURIComponent(params.payWay)}/${encodeURIComponent(params.orderNo)}`;
        return page(found, {
          place: isBack ? 'returned' : 'cancelled',
          language,
          address: isBack ? address : `${address}?cancelled=1`,
        });
      },
    ),
  );

  router.get(
    STYLE_PATH,
    endpoint(asset, () => file('text/css', STYLESHEET)),
  );
  router.get(
    PAYER_SCRIPT_PATH,
    endpoint(asset, () => file('text/javascript', PAYER_SCRIPT)),
  );
  return router;
}

const asset = { auth: 'none', raw: 'stream', hidden: true } as const;

/** For an unknown order, the payer gets an HTML page with status 404 and not a JSON error. */
const htmlPage = {
  raw: 'html',
  answers: { 200: { 'text/html': 'text' }, 303: { 'text/html': 'text' }, 404: { 'text/html': 'text' } },
} as const;

/** A text that cannot be an order number is not looked up; the payer gets the page for unknown orders. */
async function readable(
  orderNo: string,
  read: (orderNo: string) => Promise<PayerOrder | undefined>,
): Promise<PayerOrder | undefined> {
  return Code.safeParse(orderNo).success ? read(orderNo) : undefined;
}

/** The path of the payment page for a text from a URL, which need not be an order number. */
function addressOfPage(orderNo: string): string {
  return `/pay/${encodeURIComponent(orderNo)}`;
}

/** Redirects to the payment page of an order, always with GET. */
function goTo(orderNo: string, { language, headers }: PageLanguage): Reply {
  return new Reply({
    status: 303,
    headers: {
      ...headers,
      location: inLanguage(addressOfPage(orderNo), language),
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
    },
    body: '',
  });
}

interface Look extends Pick<Shown, 'address'> {
  place: Place;
  language: PageLanguage;
  choice?: Choice;
}

async function page(
  order: PayerOrder | undefined,
  { place, language: { language, headers, cookies }, address, choice }: Look,
): Promise<Reply> {
  const shown: Shown = { language, address };
  return new Reply({
    status: order ? 200 : 404,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'referrer-policy': order && CHANNELS[order.payWay].needsReferrer ? 'origin' : 'no-referrer',
    },
    cookies,
    body: order ? await payerPage(order, place, shown, choice) : unknownOrderPage(shown),
  });
}

function file(type: string, body: string): Reply {
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
  };
  return new Reply({ headers, body });
}
