// Example Pay: a minimal channel that the service does not have. `journeys/added-channel` adds it to a copy.
import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  type BillLine,
  type BillPart,
  type Channel,
  type ChannelInput,
  type ChannelKind,
  type FieldSpec,
  type Mode,
  NOTIFICATION_STATUS,
  NotificationNotGenuine,
  type OrderRef,
  type RefundOutcome,
  TransportFailed,
  type UnknownOutcome,
} from '../../../server/payments/channel.ts';
import { type BillRow, EXAMPLE, type ShownOrder, signed } from './signature.ts';

const MODES = ['simulator', 'sandbox', 'live'] as const satisfies readonly Mode[];
const FIELDS: readonly FieldSpec[] = [
  {
    name: 'shopId',
    label: 'Shop ID',
    secret: false,
    requiredIn: MODES,
    pattern: /^shop-[\w-]{1,64}$/,
    help: 'Number of the shop.',
  },
  {
    name: 'apiKey',
    label: 'API key',
    secret: true,
    requiredIn: MODES,
    pattern: /^\w{32,64}$/,
    help: 'Signs requests and notifications.',
  },
];

export const exampleKind: ChannelKind = {
  payWay: EXAMPLE,
  name: 'Example Pay',
  modes: MODES,
  scenes: { redirect: { type: 'redirect', maxSeconds: 7200, needs: [] } },
  defaultScene: 'redirect',
  currencies: ['EUR', 'JPY'],
  defaultCurrency: 'EUR',
  limits: {
    minExpirySeconds: 60,
    maxRefundsPerOrder: null,
    refundSpacingSeconds: 0,
    refundWindowDays: 77,
    lateNotificationDays: 90,
    refundResendDays: null,
  },
  bills: { utcOffsetMinutes: 60, readyAfterMinutes: 0, backDays: 30 },
  notificationHelp: {
    account: { en: 'shop', zh: 'shop' },
    signature: { en: 'the header Example-Signature', zh: '请求头 Example-Signature' },
    key: { en: 'the API key is that of the shop', zh: 'API 密钥属于该店铺' },
  },
  fields: FIELDS,
  certKinds: [],
  accountOf: ({ shopId = '' }) => shopId,
  missing: (_mode, fields) => FIELDS.map(({ name }) => name).filter((name) => !fields[name]),
  registrations: () => [],
  create: createExample,
};

const NOTHING = { kind: 'absent' } as const;

function createExample({ fields, simulatorUrl, send, now }: ChannelInput): Channel {
  const { shopId = '', apiKey = '' } = fields;
  const base = `${simulatorUrl ?? 'https://api.example.com'}/example`;

  /** Returns the answer, `absent` for 404, or the reason why the outcome is unknown. */
  async function call<T>(
    about: { call: string; orderNo?: string; refundNo?: string },
    path: string,
    body?: object,
  ): Promise<{ kind: 'ok'; value: T; text: string } | typeof NOTHING | UnknownOutcome> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { 'example-shop': shopId, 'example-signature': signed(apiKey, `${method} ${path} ${text}`) };
    try {
      const answer = await send({ method, url: `${base}${path}`, headers, ...(body && { body: text }), about });
      const said = answer.body.toString('utf8');
      if (answer.headers['example-signature'] !== signed(apiKey, said))
        return { kind: 'unknown', cause: 'signature_invalid' };
      if (answer.status === 404) return NOTHING;
      if (answer.status !== 200) return { kind: 'unknown', cause: 'http_status', detail: String(answer.status) };
      return { kind: 'ok', text: said, value: JSON.parse(said) as T };
    } catch (error) {
      if (error instanceof TransportFailed) return { kind: 'unknown', cause: error.why };
      return { kind: 'unknown', cause: 'unparsable' };
    }
  }

  const pathOf = ({ orderNo }: Pick<OrderRef, 'orderNo'>) => `/orders/${orderNo}`;
  const read = (order: OrderRef) => call<ShownOrder>({ call: 'query', orderNo: order.orderNo }, pathOf(order));

  async function refundOf(order: OrderRef, isIt: (refund: ShownOrder['refunds'][number]) => boolean) {
    const said = await read(order);
    if (said.kind !== 'ok') return said;
    const found = said.value.refunds.find(isIt);
    return found ? done(found, order) : NOTHING;
  }

  function done({ number, minor, at }: ShownOrder['refunds'][number], { amount }: OrderRef): RefundOutcome {
    const refunded = { minor: BigInt(minor), currency: amount.currency };
    return { kind: 'succeeded', amount: refunded, at: new Date(at), channelRefundNo: number };
  }

  return {
    payWay: EXAMPLE,
    account: shopId,
    async place({ orderNo, amount, subject, notifyUrl, returnUrl, expiresAt }) {
      const draft = { orderNo, minor: Number(amount.minor), currency: amount.currency, subject, notifyUrl, returnUrl };
      const said = await call<ShownOrder>({ call: 'create', orderNo }, '/orders', { ...draft, expiresAt });
      if (said.kind !== 'ok') return said;
      return { kind: 'pending', pay: { type: 'redirect', url: said.value.payUrl } };
    },
    async query(order) {
      const said = await read(order);
      if (said.kind !== 'ok') return said;
      const { state, payment } = said.value;
      if (payment) {
        const amount = { minor: BigInt(payment.minor), currency: order.amount.currency };
        return { kind: 'paid', channelNo: payment.number, amount, at: new Date(payment.at) };
      }
      return { kind: state === 'closed' ? 'closed' : 'pending' };
    },
    async close(order) {
      const said = await call<ShownOrder>({ call: 'close', orderNo: order.orderNo }, `${pathOf(order)}/close`, {});
      return said.kind === 'ok' ? { kind: said.value.payment ? 'paid' : 'closed' } : said;
    },
    async refund(order) {
      const { orderNo, refundNo, refundAmount, reason, notifyUrl } = order;
      const draft = { refundNo, minor: Number(refundAmount.minor), reason, notifyUrl };
      const said = await call<ShownOrder>({ call: 'refund', orderNo, refundNo }, `${pathOf(order)}/refunds`, draft);
      if (said.kind !== 'ok') return said;
      return done(
        said.value.refunds.find((one) => one.refundNo === refundNo)!,
        order,
      );
    },
    queryRefund: (order) => refundOf(order, ({ refundNo }) => refundNo === order.refundNo),
    lookUpRefund: (order, number) => refundOf(order, (one) => [one.number, one.refundNo].includes(number)),
    async readNotification(headers, rawBody) {
      const text = rawBody.toString('utf8');
      const given = Buffer.from(headers['example-signature'] ?? '');
      const own = Buffer.from(signed(apiKey, text));
      if (given.length === 0) throw new NotificationNotGenuine('unsigned', 'There is no signature.');
      if (given.length !== own.length || !timingSafeEqual(given, own))
        throw new NotificationNotGenuine('signature_invalid', 'The signature is not of this key.');
      const { id, event, orderNo, refundNo } = JSON.parse(text) as Record<string, string>;
      const about = { orderNo: orderNo ?? null, refundNo: refundNo ?? null };
      return { notificationId: id ?? '', account: shopId, event: event ?? '', ...about };
    },
    ackNotification: (verdict) => ({ status: NOTIFICATION_STATUS[verdict], contentType: 'text/plain', body: verdict }),
    bills: {
      async fetch(day) {
        const said = await call<BillRow[]>({ call: 'bill' }, `/bills/${day}`);
        if (said.kind === 'absent') return { kind: 'not_ready', code: 'NOT_FOUND' };
        if (said.kind !== 'ok') return said;
        return {
          kind: 'bill',
          bytes: (async function* () {
            yield Buffer.from(said.text);
          })(),
        };
      },
      payeeIn: async () => shopId,
      async *read(file): AsyncIterable<BillPart> {
        const rows = JSON.parse(await readFile(file, 'utf8')) as BillRow[];
        yield { kind: 'lines', lines: rows.map(lineOf) };
      },
    },
    async probe() {
      const said = await call<ShownOrder>({ call: 'query' }, `/orders/PROBE${now().getTime()}`);
      if (said.kind === 'absent') return { ok: true };
      return { ok: false, field: 'apiKey', code: said.kind === 'unknown' ? said.cause : null, message: 'No answer.' };
    },
  };
}

function lineOf(row: BillRow, index: number): BillLine {
  return {
    line: index + 1,
    kind: row.kind,
    event: row.kind,
    orderNo: row.orderNo,
    refundNo: row.refundNo,
    channelTradeNo: row.tradeNo,
    channelRefundNo: row.kind === 'refund' ? row.number : null,
    currency: row.currency,
    amount: BigInt(row.minor),
    discount: 0n,
    fee: BigInt(row.fee),
    share: 0n,
    at: new Date(row.at),
    raw: JSON.stringify(row),
  };
}
