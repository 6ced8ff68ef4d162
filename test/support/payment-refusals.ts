import { randomUUID } from 'node:crypto';
import { uniqueCode } from './file-service.ts';
import type { Market } from './market.ts';

/** One refusal of an operation on money, the same wherever the operation is served. */
interface Refusal {
  /** Continues "it is refused …". */
  when: string;
  status: number;
  code: string;
  /** Creates the situation and returns the request that is refused. */
  request(market: Market): Promise<Record<string, unknown>>;
}

const order = { subject: 'Tea', amount: 10, payWay: 'alipay' };

/** Refusals of a pay request; each needs its own market. */
export const PAY_REFUSALS: readonly Refusal[] = [
  {
    when: 'with more decimals than the currency has',
    status: 400,
    code: 'amount_invalid',
    request: async () => ({ ...order, amount: 1.234 }),
  },
  {
    when: 'when the channel is disabled',
    status: 422,
    code: 'channel_disabled',
    request: async ({ admin, project, shop }) => {
      await shop.call('POST', '/api/v2/payment/pay', order);
      await admin('PUT', `/api/v1/payment/config/alipay/toggle?project=${project}`, { enabled: false });
      return order;
    },
  },
  {
    when: 'when the configuration of the channel is not complete',
    status: 422,
    code: 'channel_not_configured',
    request: async ({ admin, project }) => {
      const incomplete = { mode: 'sandbox', appId: '2021000000000001' };
      await admin('POST', `/api/v1/payment/config/alipay?project=${project}`, incomplete);
      return order;
    },
  },
  {
    when: 'when the project is disabled',
    status: 422,
    code: 'project_disabled',
    request: async ({ admin, project }) => {
      await admin('PUT', `/api/v1/projects/${project}/toggle`, { enabled: false });
      return order;
    },
  },
  {
    when: 'when the payer is blocked',
    status: 422,
    code: 'user_blocked',
    request: async ({ admin, project }) => {
      await admin('POST', `/api/v1/users?project=${project}`, { userId: 'ann', status: 'blocked' });
      return { ...order, userId: 'ann' };
    },
  },
  {
    when: 'when the amount is not the price of the product',
    status: 422,
    code: 'price_mismatch',
    request: async ({ product }) => {
      await product({ code: 'tea' });
      return { ...order, product: 'tea', amount: 9.99 };
    },
  },
  {
    when: 'when the product is out of stock',
    status: 422,
    code: 'out_of_stock',
    request: async ({ product }) => {
      await product({ code: 'tea', stock: 0 });
      return { ...order, product: 'tea' };
    },
  },
  {
    when: 'when the payer has bought as many as one may',
    status: 422,
    code: 'user_limit_reached',
    request: async ({ product, paid }) => {
      await product({ code: 'tea', perUserLimit: 1 });
      await paid({ product: 'tea', userId: 'ann' });
      return { ...order, product: 'tea', userId: 'ann' };
    },
  },
  {
    when: 'when the sale of the product is over',
    status: 422,
    code: 'not_on_sale',
    request: async ({ product }) => {
      await product({ code: 'tea', saleTo: '2020-01-01T00:00:00Z' });
      return { ...order, product: 'tea' };
    },
  },
  {
    when: 'when the channel declines it for good',
    status: 422,
    code: 'channel_refused',
    request: async () => ({ ...order, amount: 0.02 }),
  },
  {
    when: 'when the channel stays silent, with the number of the order that may be there',
    status: 504,
    code: 'channel_outcome_unknown',
    request: async ({ service }) => {
      // The connection breaks at once instead of after the simulator's eight seconds: the outcome is unknown either way.
      const silence = { fault: 'commit-then-timeout', hangUpMs: 100, times: 1 };
      await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', ...silence });
      return order;
    },
  },
  ...Object.entries({
    alipay: { unlisted: 'BRAND_NEW_REASON', mayExist: 'TRADE_HAS_SUCCESS' },
    wechat: { unlisted: 'BRAND_NEW_REASON', mayExist: 'OUT_TRADE_NO_USED' },
    // PayPal answers this refusal with 403, others with 422.
    paypal: { unlisted: 'PAYEE_NOT_CONSENTED', mayExist: 'DUPLICATE_INVOICE_ID' },
  }).flatMap(([payWay, { unlisted, mayExist }]): Refusal[] => [
    {
      when: `when ${payWay} refuses it for a reason that no list has`,
      status: 502,
      code: 'channel_refusal_inconclusive',
      request: ({ service }) => refusedWith(service, payWay, unlisted),
    },
    {
      when: `when the refusal of ${payWay} says that there is such a trade`,
      status: 502,
      code: 'channel_refusal_inconclusive',
      request: ({ service }) => refusedWith(service, payWay, mayExist),
    },
  ]),
  {
    when: 'when the answer of the channel is not genuine',
    status: 502,
    code: 'channel_answer_unusable',
    request: async ({ service }) => {
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'create', fault: 'wrong-key', times: 1 });
      return { ...order, payWay: 'wechat' };
    },
  },
];

async function refusedWith({ sim }: Market['service'], payWay: string, word: string): Promise<Record<string, unknown>> {
  await sim('/sim/faults', { payWay, call: 'create', fault: 'refused', word, times: 1 });
  return { ...order, payWay };
}

const paidOrder = async ({ paid }: Market, request?: Record<string, unknown>) => ({
  orderNo: await paid(request),
  refundAmount: 4,
});

/** Refusals of a refund request. */
export const REFUND_REFUSALS: readonly Refusal[] = [
  {
    when: 'before the order is paid',
    status: 409,
    code: 'order_not_paid',
    request: async ({ shop }) => {
      const { body } = await shop.call('POST', '/api/v2/payment/pay', order);
      return { orderNo: body.data.orderNo, refundAmount: 4 };
    },
  },
  {
    when: 'above what is left of the payment',
    status: 422,
    code: 'refund_exceeds_refundable',
    request: async (market) => ({ ...(await paidOrder(market)), refundAmount: 10.01 }),
  },
  {
    when: 'while the outcome of an equal refund is unknown',
    status: 409,
    code: 'refund_in_progress',
    request: async (market) => {
      const request = await paidOrder(market);
      const { orderNo } = request;
      await market.service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: '502', orderNo });
      await market.shop.call('POST', '/api/v2/payment/refund', request);
      return request;
    },
  },
  {
    when: 'while an exception of the order blocks refunds',
    status: 409,
    code: 'refunds_blocked',
    request: async (market) => {
      const request = await paidOrder(market);
      const { service, shop, project } = market;
      await service.app.store.transaction((tx) =>
        tx.exceptions.insert({
          id: randomUUID(),
          orderNo: request.orderNo,
          kind: 'refund_unexplained',
          dedupe: 'once',
          state: 'open',
          blocksRefunds: true,
          clientId: shop.clientId,
          project,
          createdAt: service.clock.now(),
        }),
      );
      return request;
    },
  },
  {
    when: 'after as many refunds as WeChat Pay takes of one order',
    status: 422,
    code: 'refund_limit_reached',
    request: async (market) => {
      const request = await paidOrder(market, { payWay: 'wechat' });
      const { orderNo } = request;
      await market.shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 0.1 });
      await market.service.app.store.transaction(async (tx) => {
        const made = await tx.refunds.find({ orderNo });
        if (!made) throw new Error('no refund');
        for (let number = 1; number < 50; number += 1)
          await tx.refunds.insert({ ...made, refundNo: `${made.refundNo}-${number}` });
      });
      return request;
    },
  },
  {
    when: 'when the payment is older than the channel refunds',
    status: 409,
    code: 'refund_window_over',
    request: async (market) => {
      const request = await paidOrder(market);
      const { orderNo } = request;
      const paidAt = new Date(market.service.clock.now().getTime() - 366 * 86_400_000);
      await market.service.app.store.transaction((tx) => tx.orders.update({ orderNo }, { paidAt }));
      return request;
    },
  },
  {
    when: 'when the merchantRefundNo stands for a refund of another amount',
    status: 409,
    code: 'merchant_number_used',
    request: async (market) => {
      const request = { ...(await paidOrder(market)), merchantRefundNo: uniqueCode('m') };
      await market.shop.call('POST', '/api/v2/payment/refund', request);
      return { ...request, refundAmount: 3 };
    },
  },
  {
    when: 'when the coins that came with the order are spent',
    status: 409,
    code: 'coins_spent',
    request: async (market) => {
      const { admin, project, product, shop } = market;
      const coin = uniqueCode('coin');
      await admin('POST', `/api/v1/coins?project=${project}`, { code: coin, name: 'Gold', clawback: 'refuse' });
      await product({ code: coin, kind: 'coin_package', coin: { code: coin, amount: 100 } });
      const request = await paidOrder(market, { product: coin, userId: coin });
      const debit = { userId: coin, amount: 100, bizNo: 'all' };
      await shop.call('POST', `/api/v2/coins/${coin}/debit`, debit);
      return request;
    },
  },
];
