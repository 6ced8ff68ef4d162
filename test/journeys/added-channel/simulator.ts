// Example Pay inside the simulator.
import { randomBytes, randomUUID } from 'node:crypto';
import { type BillRow, EXAMPLE, type ShownOrder, signed } from './signature.ts';
import { rowsOf } from '../../../server/simulator/bills/book.ts';
import { spanOfDay } from '../../../server/simulator/bills/rows.ts';
import type { Account } from '../../../server/simulator/accounts.ts';
import type { Call } from '../../../server/simulator/faults.ts';
import type { Core, ChannelSimulator } from '../../../server/simulator/channel-simulator.ts';
import { SimulatorRefusal, rawBodyOf } from '../../../server/simulator/requests.ts';
import type { Trade } from '../../../server/simulator/trade.ts';

interface Draft {
  orderNo: string;
  minor: number;
  currency: string;
  subject: string;
  notifyUrl: string;
  returnUrl: string;
}

const RULES: ChannelSimulator['billRules'] = {
  payWay: EXAMPLE,
  offsetMs: 3_600_000,
  currency: 'EUR',
  feeRate: '1',
  feeOf: (minor) => Math.floor(minor / 100),
  refundsLeave: 'accepted',
  numberFrom: (digest) => `EX${digest.slice(0, 16)}`,
  lacks: ['late', 'empty', 'cut', 'wrong-hash', 'expired-url', 'wrong-charset', 'zip-bomb', 'withdrawal'],
  offers: [],
};

const numberOf = () => `EX${randomBytes(8).toString('hex')}`;

export const exampleSimulator: ChannelSimulator = {
  payWay: EXAMPLE,
  billRules: RULES,
  hosts: ['api.example.com'],
  notificationSchedule: [60, 600],
  newSecrets: async (_core, name) => ({ shopId: `shop-${name}`, apiKey: randomBytes(16).toString('hex') }),
  configFor: ({ secrets: { shopId = '', apiKey = '' } }) => ({ fields: { shopId, apiKey }, pems: {} }),
  mount(router, core) {
    const add = (method: 'get' | 'post', path: string, call: Call, act: Act) =>
      router[method](`/example${path}`, async (ctx) => {
        const account = core.accounts.of(EXAMPLE).find(({ secrets }) => secrets['shopId'] === ctx.get('example-shop'));
        const text = rawBodyOf(ctx).toString();
        const asked = `${ctx.method} ${ctx.path.slice('/example'.length)} ${text}`;
        if (!account || ctx.get('example-signature') !== signed(keyOf(account), asked)) return void (ctx.status = 401);
        const params = ctx.params as Record<string, string>;
        const body = JSON.parse(text || '{}') as Record<string, never>;
        await core.answer(ctx, {
          payWay: EXAMPLE,
          account: account.name,
          call,
          orderNo: params['orderNo'] ?? body['orderNo'],
          act() {
            const said = act({ core, account, params, body });
            return { status: said === undefined ? 404 : 200, body: JSON.stringify(said ?? {}) };
          },
          sign: (answer) => ({
            ...answer,
            headers: { 'Example-Signature': signed(keyOf(account), answer.body), 'Content-Type': 'application/json' },
          }),
        });
      });
    const find = ({ account, params }: Asked) =>
      core.trades.find(params['orderNo'] ?? '', { payWay: EXAMPLE, account: account.name });
    add('post', '/orders', 'create', ({ account, body }) => {
      const draft = body as unknown as Draft;
      const known = core.trades.find(draft.orderNo, { payWay: EXAMPLE, account: account.name });
      if (known) return show(core, known);
      const trade = core.trades.create({
        payWay: EXAMPLE,
        account: account.name,
        scene: 'redirect',
        state: 'open',
        ...draft,
      });
      core.startFixed(trade);
      return show(core, trade);
    });
    add('get', '/orders/:orderNo', 'query', (asked) => {
      const trade = find(asked);
      return trade && show(core, trade);
    });
    add('post', '/orders/:orderNo/close', 'close', (asked) => {
      const trade = find(asked);
      if (trade && trade.state !== 'paid') core.trades.close(trade);
      return trade && show(core, trade);
    });
    add('post', '/orders/:orderNo/refunds', 'refund', (asked) => {
      const trade = find(asked);
      const draft = asked.body as unknown as { refundNo: string; minor: number; reason: string; notifyUrl: string };
      const isKnown = trade?.refunds.some(({ refundNo }) => refundNo === draft.refundNo);
      if (trade && !isKnown) core.refund(trade, draft);
      return trade && show(core, trade);
    });
    add('get', '/bills/:day', 'bill', ({ account, params }) => {
      const span = spanOfDay(RULES, params['day'] ?? '');
      if (!span) return undefined;
      const content = core.bills.contentOf({ rules: RULES, account: account.name, ...span });
      return [...rowsOf(content)].map((row): BillRow => {
        const { kind, orderNo, refundNo, tradeNo, number, currency, minor, fee, at } = row;
        const about = { orderNo, refundNo, tradeNo, number, currency, minor, fee, at: new Date(at).toISOString() };
        return { kind: kind === 'refund' ? 'refund' : 'payment', ...about };
      });
    });
  },
  pay(core, trade) {
    core.trades.pay(trade, { number: numberOf() });
    tell(core, trade, 'paid');
  },
  decline: (core, trade) => core.trades.decline(trade),
  notifyRefund: (core, trade, { refundNo }) => tell(core, trade, 'refunded', refundNo),
  newRefundNumber: numberOf,
  signNotification(core, { id, account, event, orderNo, facts }, fault) {
    const text = JSON.stringify({ id, event, orderNo, ...facts });
    const key = fault === 'wrong-key' ? 'stranger' : keyOf(core.accounts.get(EXAMPLE, account)!);
    return { headers: { 'Example-Signature': signed(key, text) }, body: Buffer.from(text) };
  },
  acknowledged: (status) => status === 200,
  async rotate() {
    throw new SimulatorRefusal(400, 'nothing_to_rotate', 'Example Pay rotates nothing.');
  },
};

interface Asked {
  core: Core;
  account: Account;
  params: Record<string, string>;
  body: Record<string, never>;
}
type Act = (asked: Asked) => object | undefined;

function keyOf({ secrets }: Account): string {
  return secrets['apiKey'] ?? '';
}

function show(core: Core, trade: Trade): ShownOrder {
  const [payment] = trade.payments;
  return {
    state: trade.state === 'paid' ? 'paid' : trade.state === 'closed' ? 'closed' : 'open',
    payUrl: core.payUrl(trade),
    payment: payment ? { number: payment.number, minor: payment.minor, at: new Date(payment.at).toISOString() } : null,
    refunds: trade.refunds.map(({ refundNo, number, minor, state, at }) => {
      return { refundNo, number, minor, state, at: new Date(at).toISOString() };
    }),
  };
}

function tell(core: Core, trade: Trade, event: string, refundNo?: string): void {
  const facts = refundNo === undefined ? {} : { refundNo };
  if (trade.notifyUrl) core.notifications.send(trade, { id: randomUUID(), event, url: trade.notifyUrl, facts });
}
