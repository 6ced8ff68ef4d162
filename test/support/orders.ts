import { until, type Merchant, type Service } from './service.ts';

/** Places an order and returns its number; fails when the service does not answer 201. */
export async function placeOrder(
  shop: Merchant,
  request: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<string> {
  const { status, body } = await shop.call(
    'POST',
    '/api/v2/payment/pay',
    { subject: 'Test', amount: 10, payWay: 'alipay', ...request },
    headers,
  );
  if (status !== 201) throw new Error(`pay: ${status} ${JSON.stringify(body)}`);
  return body.data.orderNo;
}

/** Places an order, lets the payer pay, and waits until the service has stored the payment. */
export async function payOrder(service: Service, shop: Merchant, request: Record<string, unknown>): Promise<string> {
  const orderNo = await placeOrder(shop, request);
  await service.sim('/sim/pay', { orderNo });
  await until(`${orderNo} paid`, async () => (await stateOf(service, orderNo)) === 'paid');
  return orderNo;
}

/** The stored state of an order. */
export async function stateOf(service: Service, orderNo: string): Promise<string | undefined> {
  return (await service.app.store.read((tx) => tx.orders.find({ orderNo })))?.state;
}
