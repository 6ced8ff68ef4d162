import type { PayWay } from '../../../../server/payments/channel.ts';

/** A silent channel takes effect after `delayMs` and keeps the connection longer than any client waits. */
const SILENCE = { delayMs: 2_500, hangUpMs: 120_000 };

/** A notification delivery recorded by the simulator, received or not. */
interface RecordedNotification {
  event: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** The simulator's ledger sums of one order, in minor units. */
interface LedgerSums {
  created: number;
  paid: number;
  refunded: number;
  refunds: number;
  /** The number of payments taken. */
  payments: number;
}

/** The controls of a simulated channel. */
export interface Driver {
  /** Pays as the payer, first opening this URL where the scene needs it; at PayPal it approves. */
  pay(orderNo: string, payUrl?: string): Promise<void>;
  /** Applies this fault once to the next such call for the order (`notification` for deliveries); `word` is the channel's own code. */
  fault(call: string, fault: string, orderNo: string, word?: string): Promise<void>;
  /** Returns the number of faults applied to the order. */
  struck(orderNo: string): Promise<number>;
  /** Returns undefined for an unknown order. */
  ledger(orderNo: string): Promise<LedgerSums | undefined>;
  /** Returns the notifications of the order, sent or suppressed, oldest first. */
  notifications(orderNo: string): Promise<RecordedNotification[]>;
}

/** Drives one simulated channel through the control API. */
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

/** Approves the payment in the page of the channel's order number (PayPal buttons). */
export async function agreeInPage(simulatorUrl: string, payWay: PayWay, channelOrderId: string): Promise<void> {
  const sent = { method: 'POST', body: new URLSearchParams({ choice: 'pay' }) };
  const answer = await fetch(`${simulatorUrl}/pay/${payWay}/${channelOrderId}`, sent);
  const page = await answer.text();
  if (!page.includes('Approved.')) throw new Error(`${payWay} ${channelOrderId}: ${answer.status} ${page}`);
}
