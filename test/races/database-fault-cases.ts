import { ledgerOf } from '../support/merchant-ledger.ts';
import { untilTaken } from '../support/counts.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import type { SickStage } from './sick-stage.ts';
import { offerSkill } from '../support/skillpay.ts';
import { until, type Answer } from '../support/service.ts';

/** The subject of one case. */
export interface Subject {
  /** Its unique tag: subject, key and merchant order number. */
  tag: string;
  orderNo: string;
  payWay: string;
  /** Whether a response reported success. */
  wasDone?: boolean;
}

/** An action of a merchant or payer at the sick replica. */
export interface Operation {
  name: string;
  prepare(stage: SickStage, tag: string, turn: number): Promise<Subject>;
  act(stage: SickStage, subject: Subject): Promise<Answer>;
  /** Whether the merchant may simply repeat it; otherwise it first looks up the number that it received. */
  repeatable: boolean;
  isDone(answer: Answer): boolean;
  /** The error in a response that reports success. */
  untruth(stage: SickStage, subject: Subject, answer: Answer): Promise<unknown>;
  /** Whether it creates an object with a number, which a failed response must include. */
  makesNumber: boolean;
  /** The numbers of the objects that the request created. */
  made(stage: SickStage, subject: Subject): Promise<string[]>;
  /** The steps before the comparison. */
  follow?(stage: SickStage, subject: Subject): Promise<void>;
  /** The outcome once everything is quiet, and the expected one. */
  outcome(stage: SickStage, subject: Subject): Promise<{ is: unknown; should: unknown }>;
}

type With = 'key' | 'number' | 'nothing';
const WAYS = ['alipay', 'wechat', 'paypal'] as const;
const AMOUNT = 10;

const ordersOf = ({ calm }: SickStage, { tag }: Subject) =>
  calm.app.store.read((tx) => tx.orders.list({ subject: tag }));
const orderOf = ({ calm }: SickStage, orderNo: string) => calm.app.store.read((tx) => tx.orders.find({ orderNo }));
const refundsOf = ({ calm }: SickStage, orderNo: string) => calm.app.store.read((tx) => tx.refunds.list({ orderNo }));
const atCalm = async ({ calm, shop }: SickStage, orderNo: string): Promise<void> => {
  await calm.app.payments.sync(shop.requester, orderNo);
};

/** The payer pays, and the calm replica learns of it. */
async function paid(stage: SickStage, orderNo: string): Promise<void> {
  await stage.calm.sim('/sim/pay', { orderNo });
  await atCalm(stage, orderNo);
  if ((await stateOf(stage.calm, orderNo)) !== 'paid') throw new Error(`${orderNo} is not paid`);
}

const placed = (stage: SickStage, tag: string, payWay: string) =>
  placeOrder(stage.shop, { subject: tag, amount: AMOUNT, payWay });

function pay(by: With, product?: string): Operation {
  return {
    name: `pay${product ? ' for a product' : ''}, ${withWords[by]}`,
    repeatable: by !== 'nothing',
    makesNumber: true,
    prepare: async (_, tag, turn) => ({ tag, orderNo: '', payWay: product ? WAYS[turn % 2]! : WAYS[turn % 3]! }),
    act: ({ sick, shop }, { tag, payWay }) =>
      shop.callAt(
        sick.url,
        'POST',
        '/api/v2/payment/pay',
        {
          subject: tag,
          amount: AMOUNT,
          payWay,
          ...(by === 'number' && { merchantOrderNo: tag }),
          ...(product && { product }),
        },
        by === 'key' ? { 'idempotency-key': tag } : {},
      ),
    isDone: ({ status }) => status === 201,
    async untruth(stage, subject, { body: { data } }) {
      const found = await orderOf(stage, data.orderNo);
      return found?.subject === subject.tag && found.state === data.status && found.credential !== null
        ? undefined
        : { data, found };
    },
    made: async (stage, subject) => (await ordersOf(stage, subject)).map(({ orderNo }) => orderNo),
    async follow(stage, subject) {
      for (const order of await ordersOf(stage, subject)) {
        const { orderNo, state } = order;
        if (state === 'created') await stage.calm.app.sweep.once();
        await stage.calm.sim('/sim/pay', { orderNo }).catch(() => {});
        await atCalm(stage, orderNo);
        if (subject.payWay === 'paypal') await stage.calm.app.payments.capture(order, 'test');
      }
    },
    async outcome(stage, subject) {
      const orders = await ordersOf(stage, subject);
      const ledger = await ledgerOf(stage.calm);
      const is = orders.map(({ orderNo, state }) => [state, ledger.get(orderNo)?.payments ?? 0]);
      // A merchant without key and number cannot continue an order whose response was lost: it expires.
      const isOver = !subject.wasDone && orders[0]?.state === 'closed';
      return { is, should: [isOver ? ['closed', 0] : ['paid', 1]] };
    },
  };
}

function refund(by: With): Operation {
  return {
    name: `refund, ${withWords[by]}`,
    repeatable: by !== 'nothing',
    makesNumber: true,
    async prepare(stage, tag, turn) {
      const payWay = WAYS[turn % 2]!;
      const orderNo = await placed(stage, tag, payWay);
      await paid(stage, orderNo);
      return { tag, orderNo, payWay };
    },
    act: ({ sick, shop }, { tag, orderNo }) =>
      shop.callAt(
        sick.url,
        'POST',
        '/api/v2/payment/refund',
        { orderNo, refundAmount: 4, ...(by === 'number' && { merchantRefundNo: tag }) },
        by === 'key' ? { 'idempotency-key': tag } : {},
      ),
    isDone: ({ status }) => status === 200,
    async untruth(stage, { orderNo }, { body: { data } }) {
      const found = (await refundsOf(stage, orderNo)).find(({ refundNo }) => refundNo === data.refundNo);
      return found?.amount === 400n && found.state === data.status ? undefined : { data, found };
    },
    made: async (stage, { orderNo }) => (await refundsOf(stage, orderNo)).map(({ refundNo }) => refundNo),
    async outcome(stage, { orderNo }) {
      const refunds = await refundsOf(stage, orderNo);
      const { refunded } = (await ledgerOf(stage.calm)).get(orderNo) ?? {};
      return { is: [refunds.map(({ state }) => state), refunded], should: [['succeeded'], 400] };
    },
  };
}

function close(by: With): Operation {
  return {
    name: `close, ${withWords[by]}`,
    repeatable: true,
    makesNumber: false,
    async prepare(stage, tag, turn) {
      const payWay = WAYS[turn % 3]!;
      return { tag, orderNo: await placed(stage, tag, payWay), payWay };
    },
    act: ({ sick, shop }, { tag, orderNo }) =>
      shop.callAt(
        sick.url,
        'POST',
        `/api/v2/payment/close/${orderNo}`,
        undefined,
        by === 'key' ? { 'idempotency-key': tag } : {},
      ),
    isDone: ({ status }) => status === 200,
    async untruth(stage, { orderNo }, { body: { data } }) {
      const state = await stateOf(stage.calm, orderNo);
      return state === data.status && (state === 'closing' || state === 'closed') ? undefined : { data, state };
    },
    async made(stage, { orderNo }) {
      const state = await stateOf(stage.calm, orderNo);
      return state === 'closing' || state === 'closed' ? [orderNo] : [];
    },
    async outcome(stage, { orderNo }) {
      const { paid: taken = 0 } = (await ledgerOf(stage.calm)).get(orderNo) ?? {};
      return { is: [await stateOf(stage.calm, orderNo), taken], should: ['closed', 0] };
    },
  };
}

const capture: Operation = {
  name: 'capture (PayPal), the payer returns',
  repeatable: true,
  makesNumber: false,
  async prepare(stage, tag) {
    const orderNo = await placed(stage, tag, 'paypal');
    await stage.calm.sim('/sim/approve', { orderNo });
    return { tag, orderNo, payWay: 'paypal' };
  },
  async act(stage, { orderNo }) {
    const token = (await orderOf(stage, orderNo))?.channelOrderId;
    const answer = await fetch(`${stage.sick.url}/return/paypal/${orderNo}?token=${token}`);
    const text = await answer.text();
    const body = text.startsWith('{') ? JSON.parse(text) : { page: text };
    return { status: answer.status, headers: answer.headers, body };
  },
  isDone: ({ status }) => status === 200,
  // The page may show an older state than is known, never a later one.
  async untruth(stage, { orderNo }, { body: { page } }) {
    const state = await stateOf(stage.calm, orderNo);
    return page.includes('We have received your payment') && state !== 'paid' ? { state } : undefined;
  },
  async made() {
    return [];
  },
  async outcome(stage, { orderNo }) {
    const found = (await ledgerOf(stage.calm)).get(orderNo);
    return { is: [await stateOf(stage.calm, orderNo), found?.payments, found?.paid], should: ['paid', 1, 1000] };
  },
};

/** A paid call that finally failed: its money is being refunded or is refunded. */
function isGivenBack(body: { code?: string } | undefined): boolean {
  return body?.code?.startsWith('fulfilment_failed_') ?? false;
}

const fulfil: Operation = {
  name: 'fulfil (pay-per-call)',
  repeatable: true,
  makesNumber: false,
  async prepare(stage, tag, turn) {
    const payWay = WAYS[turn % 2]!;
    const orderNo = await offerSkill(stage.shop, { resource: 'weather', payWay });
    await paid(stage, orderNo);
    return { tag, orderNo, payWay };
  },
  act: ({ sick, shop }, { orderNo }) =>
    shop.callAt(sick.url, 'POST', '/api/v2/skillpay/resource', undefined, { 'x-out-trade-no': orderNo }),
  // On a slow machine the tries or the time of a call run out: then the money is refunded, which is a valid end.
  isDone: ({ status, body }) => status === 200 || isGivenBack(body),
  async untruth({ calm }, { orderNo }, { body }) {
    const row = await calm.app.store.read((tx) => tx.skillOrders.find({ orderNo }));
    const isTrue = isGivenBack(body)
      ? row?.fulfilment === 'failed' && row.content === null
      : row?.fulfilment === 'done' && row.content === body.data.content;
    return isTrue ? undefined : { body, row };
  },
  async made({ calm }, { orderNo }) {
    const row = await calm.app.store.read((tx) => tx.skillOrders.find({ orderNo }));
    return (row?.attempts ?? 0) > 0 ? [orderNo] : [];
  },
  async outcome({ calm, executions }, { orderNo }) {
    const row = await calm.app.store.read((tx) => tx.skillOrders.find({ orderNo }));
    const events = await calm.app.store.read((tx) =>
      tx.events.count({ objectNo: orderNo, type: 'skillpay.fulfilled' }),
    );
    const times = executions.get(orderNo) ?? 0;
    const ledger = (await ledgerOf(calm)).get(orderNo);
    if (row?.fulfilment === 'failed')
      return { is: [row.content, events, ledger?.refunded === ledger?.paid], should: [null, 0, true] };
    return {
      is: [
        row?.fulfilment,
        row?.content?.startsWith(orderNo),
        events,
        times >= 1 && times <= row!.attempts,
        ledger?.refunded,
      ],
      should: ['done', true, 1, true, 0],
    };
  },
};

const offer: Operation = {
  name: 'first call (pay-per-call), with a key',
  repeatable: true,
  makesNumber: true,
  prepare: async (_, tag, turn) => ({ tag, orderNo: '', payWay: WAYS[turn % 2]! }),
  act: ({ sick, shop }, { tag, payWay }) =>
    shop.callAt(
      sick.url,
      'POST',
      '/api/v2/skillpay/resource',
      { resource: 'weather', payWay, input: tag },
      { 'idempotency-key': tag },
    ),
  isDone: ({ status }) => status === 402,
  async untruth(stage, _subject, { body }) {
    const { outTradeNo, status } = body.data;
    const found = await orderOf(stage, outTradeNo);
    return found?.state === status && found?.state === 'pending' ? undefined : { body, found };
  },
  made: async ({ calm }, { tag }) => offersOf(calm, tag),
  async outcome({ calm }, { tag }) {
    return { is: (await offersOf(calm, tag)).length, should: 1 };
  },
};

const notification: Operation = {
  name: 'notification of a payment',
  repeatable: true,
  makesNumber: false,
  async prepare(stage, tag, turn) {
    const { sick, calm, shop } = stage;
    const payWay = WAYS[turn % 2]!;
    const order = { subject: tag, amount: AMOUNT, payWay, merchantOrderNo: tag };
    const { body } = await untilTaken(() => shop.callAt(sick.url, 'POST', '/api/v2/payment/pay', order));
    const { orderNo } = body.data;
    await calm.sim('/sim/pay', { orderNo });
    await until('the dropped notification', async () => (await calm.deliveries(orderNo)).length > 0);
    return { tag, orderNo, payWay };
  },
  // The test delivers this message only: messages of other orders would send statements too.
  async act({ calm }, { orderNo, payWay }) {
    await calm.sim('/sim/notify', { orderNo });
    const { url, headers, bodyBase64 } = (await calm.deliveries(orderNo)).at(-1)!;
    const answer = await fetch(url, { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') });
    const text = await answer.text();
    const acknowledged = answer.ok && (payWay !== 'alipay' || text === 'success');
    return { status: answer.status, headers: answer.headers, body: { acknowledged } };
  },
  isDone: ({ body }) => body.acknowledged,
  async untruth(stage, { orderNo }) {
    const state = await stateOf(stage.calm, orderNo);
    return state === 'paid' ? undefined : { state };
  },
  made: async () => [],
  async outcome(stage, { orderNo }) {
    const payments = (await ledgerOf(stage.calm)).get(orderNo)?.payments;
    return { is: [await stateOf(stage.calm, orderNo), payments], should: ['paid', 1] };
  },
};

async function offersOf({ app }: SickStage['calm'], tag: string): Promise<string[]> {
  const rows = await app.store.read(
    (tx) =>
      tx.sql<{
        number: string;
      }>`select order_no as number from skill_orders where input = to_jsonb(cast(${tag} as text))`,
  );
  return rows.map(({ number }) => number);
}

const withWords: Record<With, string> = {
  key: 'with a key',
  number: "with the merchant's number",
  nothing: 'with neither',
};

/** Every action that moves money, in each way of being repeated. */
export const OPERATIONS: readonly Operation[] = [
  pay('key', 'tea'),
  pay('number'),
  pay('nothing'),
  refund('key'),
  refund('number'),
  refund('nothing'),
  close('nothing'),
  close('key'),
  capture,
  fulfil,
  offer,
  notification,
];
