import type { PayWay } from '../../../../server/payments/channel.ts';

/** A silent channel does after this what it did not say, and keeps the connection for longer than anybody waits. */
const SILENCE = { delayMs: 2_500, hangUpMs: 120_000 };

/** A delivery of a notice as the simulator recorded it, whether or not anybody listened. */
interface RecordedNotification {
  event: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** What the simulator's own ledger says about one order; sums in minor units. */
interface LedgerSums {
  created: number;
  paid: number;
  refunded: number;
  refunds: number;
  /** How often money was taken. */
  payments: number;
}

/** What a test may do at a channel, apart from being its client. */
export interface Driver {
  /** The payer pays, at this address first where the order begins with it; PayPal: agrees. */
  pay(orderNo: string, payUrl?: string): Promise<void>;
  /** The next call of this kind for the order suffers this fault, once; `notification` for the deliveries. `word` is the channel's own for it. */
  fault(call: string, fault: string, orderNo: string, word?: string): Promise<void>;
  /** How many calls for the order have suffered a fault. */
  struck(orderNo: string): Promise<number>;
  /** Undefined when the channel never heard of the order. */
  ledger(orderNo: string): Promise<LedgerSums | undefined>;
  /** Notices that were sent (or would have been) for the order, the oldest first. */
  notifications(orderNo: string): Promise<RecordedNotification[]>;
}

/** Drives one channel of a simulator through its control API. */
export function simulatorDriver(simulatorUrl: string, payWay: PayWay): Driver {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${simulatorUrl}/sim${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /sim${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    pay: async (orderNo, payUrl) => void (await call('POST', '/pay', { payWay, orderNo, payUrl })),
    fault: async (name, fault, orderNo, word) =>
      void (await call('POST', '/faults', { payWay, call: name, fault, orderNo, word, times: 1, ...SILENCE })),
    struck: async (orderNo) => {
      const { faults } = (await call('GET', '/faults')) as { faults: { orderNo: string | null; hits: number }[] };
      return faults.filter((one) => one.orderNo === orderNo).reduce((sum, { hits }) => sum + hits, 0);
    },
    ledger: async (orderNo) => {
      const { orders } = (await call('GET', `/ledger?orderNo=${orderNo}`)) as {
        orders: (LedgerSums & { orderNo: string })[];
      };
      return orders.find((order) => order.orderNo === orderNo);
    },
    notifications: async (orderNo) => {
      const { deliveries } = (await call('GET', `/deliveries?orderNo=${orderNo}`)) as { deliveries: Recorded[] };
      return deliveries
        .filter((delivery) => delivery.orderNo === orderNo)
        .map(({ event, headers, bodyBase64 }) => ({ event, headers, body: Buffer.from(bodyBase64, 'base64') }));
    },
  };
}

interface Recorded {
  orderNo: string;
  event: string;
  headers: Record<string, string>;
  bodyBase64: string;
}

/** The payer agrees in the page that the channel opens by its own number of the order (PayPal's buttons). */
export async function agreeInPage(simulatorUrl: string, payWay: PayWay, channelOrderId: string): Promise<void> {
  const sent = { method: 'POST', body: new URLSearchParams({ choice: 'pay' }) };
  const answer = await fetch(`${simulatorUrl}/pay/${payWay}/${channelOrderId}`, sent);
  const page = await answer.text();
  if (!page.includes('Approved.')) throw new Error(`${payWay} ${channelOrderId}: ${answer.status} ${page}`);
}
