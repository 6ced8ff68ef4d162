import type { RefundAction } from '../../../server/payments/exceptions/operator.ts';
import { refundableMinor, type Trade } from '../../../server/simulator/trade.ts';
import { AlipayRefusal } from '../../../server/simulator/alipay/answers.ts';
import { SimulatorRefusal } from '../../../server/simulator/requests.ts';
import { refundElsewhere } from '../../../server/simulator/refunds.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import type { OrderExceptionRow } from '../../../server/db/entities/orders.ts';
import { ADMINISTRATOR, type Clients } from './clients.ts';
import type { Heard } from './journal.ts';
import type { Act, Step, OrderPlan } from './plan.ts';
import type { Replica } from './replica.ts';
import { FOREVER, type World } from './world.ts';

/** The facts that actors share about an order. */
interface Known {
  /** The order numbers that merchants received, the newest last. */
  readonly numbers: string[];
  /** The pay URL of the payer. */
  payUrl?: string;
}

/** All actors of a world, following the plan. */
export class People {
  readonly #world: World;
  readonly #clients: Clients;
  readonly #replicas: readonly Replica[];
  readonly #known = new Map<string, Known>();

  constructor(world: World, clients: Clients, replicas: readonly Replica[]) {
    this.#world = world;
    this.#clients = clients;
    this.#replicas = replicas;
  }

  /** Starts one action in the background. */
  act(order: OrderPlan, act: Act): void {
    const known = this.#known.get(order.id) ?? { numbers: [] };
    this.#known.set(order.id, known);
    if (act.step === 'place') {
      void this.#clients.place(order, act).then((heard) => learn(known, heard));
      return;
    }
    const orderNo = known.numbers.at(-1);
    if (orderNo === undefined) return;
    this.#steps[act.step]({ order, act, orderNo, known });
  }

  readonly #steps: Readonly<Record<Exclude<Step, 'place'>, (about: About) => void>> = {
    query: ({ order, act, orderNo }) => void this.#clients.query(order.shop, orderNo, act),
    close: ({ order, act, orderNo }) => void this.#clients.close(order.shop, orderNo, act),
    capture: ({ order, act, orderNo }) => void this.#clients.capture(order.shop, orderNo, act),
    refund: ({ order, act, orderNo }) => void this.#clients.refund(order.shop, orderNo, act),
    'payer pays': (about) =>
      this.#atChannel(about, (trade) => {
        if (trade.state !== 'paid' && trade.state !== 'approved') this.#half(trade).pay(this.#world.core, trade);
      }),
    'payer declines': (about) => this.#atChannel(about, (trade) => this.#half(trade).decline(this.#world.core, trade)),
    'money crosses the close': (about) =>
      this.#atChannel(about, (trade) => {
        // A reversed code cannot be paid, but PayPal's payer can approve again.
        if (trade.state !== 'closed' || trade.payWay === 'paypal' || trade.notifyUrl === null) return;
        this.#world.core.trades.reopen(trade);
        this.#half(trade).pay(this.#world.core, trade);
      }),
    'payer comes back': (about) => this.#comeBack(about),
    'portal refund': (about) =>
      this.#atChannel(about, (trade) => {
        const minor = Math.min(about.act.amount ?? 1, refundableMinor(trade));
        // WeChat Pay reports no refund of a payer's code, and no query shows a sum: only an operator learns of it.
        if (minor > 0 && trade.notifyUrl !== null) refundElsewhere(this.#world.core, trade, minor);
      }),
    'channel repeats': (about) =>
      this.#atChannel(about, (trade) => void this.#world.core.notifications.repeat(trade, 1)),
    'somebody forges': (about) =>
      this.#atChannel(about, (trade) => {
        const { faults, notifications } = this.#world.core;
        const { payWay, orderNo } = trade;
        const rule = faults.set({ payWay, orderNo, fault: 'bad-notify-signature', times: 1 });
        void notifications.repeat(trade, 1);
        faults.clear(rule.id);
      }),
    'capture ends': (about) =>
      this.#atChannel(about, (trade) => {
        const isPending = trade.payments.some(({ state }) => state === 'pending');
        const end = this.#luck(about).pick(['completed', 'declined'] as const);
        if (isPending) this.#half(trade).moveCapture?.(this.#world.core, trade, end);
      }),
    sync: ({ act, orderNo }) =>
      void this.#administer(act, 'sync', orderNo, ({ repairs }) => repairs.syncOrder(ADMINISTRATOR, orderNo)),
    'console close': ({ act, orderNo }) =>
      void this.#administer(act, 'console-close', orderNo, ({ close }) => close(ADMINISTRATOR, orderNo)),
    'sync refunds': (about) =>
      this.#eachRefund(about, 'sync-refund', ({ refundNo }, { repairs }) =>
        repairs.syncRefund(ADMINISTRATOR, refundNo),
      ),
    'retry refunds': (about) =>
      this.#eachRefund(about, 'retry', ({ refundNo }, { repairs }) => repairs.retryRefund(ADMINISTRATOR, refundNo)),
    'end a refund': (about) => {
      const how = this.#luck(about).pick<RefundAction>(['release', 'failed_at_channel']);
      this.#eachRefund(about, how, ({ refundNo }, { repairs }) =>
        repairs.resolveRefund(ADMINISTRATOR, refundNo, how, 'looked at'),
      );
    },
    'end what is listed': (about) => void this.#endListed(about),
  };

  /** Performs an action at the channel; the channel may refuse it. */
  #atChannel({ act, orderNo, known }: About, step: (trade: Trade) => void): void {
    const world = this.#world;
    const { core } = world;
    try {
      // Opening the signed address creates the trade (Alipay's page).
      const trade =
        (known.payUrl && core.channelSimulator('alipay').open?.(core, known.payUrl)) || core.trades.find(orderNo);
      world.note(`${act.id}: ${act.step} ${orderNo}${trade ? '' : ', and there is nothing'}`);
      if (trade) step(trade);
    } catch (error) {
      if (!(error instanceof SimulatorRefusal || error instanceof AlipayRefusal)) throw error;
      world.note(`${act.id} is refused: ${error.message}`);
    }
  }

  #half({ payWay }: Trade) {
    return this.#world.core.channelSimulator(payWay);
  }

  #luck({ act }: About) {
    return this.#world.fates.of(`choice of ${act.id}`);
  }

  #administer(
    { id, replica }: Act,
    f: string,
    orderNo: string,
    work: Parameters<Clients['administer']>[4],
  ): Promise<Heard> {
    return this.#clients.administer(`${id} (${f})`, f, orderNo, replica, work);
  }

  #comeBack({ act, orderNo }: About): void {
    const trade = this.#world.core.trades.find(orderNo);
    if (!trade) return;
    void this.#administer(act, 'return', orderNo, ({ payer }) => payer.returned(trade.payWay, orderNo, trade.id));
  }

  #eachRefund(
    { act, orderNo }: About,
    f: string,
    work: (refund: RefundRow, operations: Parameters<Parameters<Clients['administer']>[4]>[0]) => Promise<unknown>,
  ): void {
    void this.#administer(act, f, orderNo, async (operations) => {
      const refunds = await operations.store.read((tx) =>
        tx.refunds.list({ orderNo }, { orderBy: { refundNo: 'asc' } }),
      );
      for (const refund of refunds) await work(refund, operations);
    });
  }

  /** Resolves the order's exceptions in some allowed way. */
  async #endListed({ act, orderNo }: About): Promise<void> {
    await this.#administer(act, 'resolve', orderNo, async (operations) => {
      const where = { orderNo, state: 'open' } as const;
      const open = await operations.store.read((tx) =>
        tx.exceptions.list(where, { orderBy: { kind: 'asc', dedupe: 'asc' } }),
      );
      for (const one of open)
        for (const how of ACTIONS[one.kind] ?? ['acknowledge'])
          await operations.repairs.resolveException(ADMINISTRATOR, one.id, how, 'looked at').catch(() => {});
    });
  }

  /** An administrator resolves all exceptions, trying every action in this order. Returns the remaining ones. */
  async endEverythingListed(): Promise<OrderExceptionRow[]> {
    const world = this.#world;
    const { exceptions, refunds } = await world.database.snapshot();
    const open = exceptions.filter(({ state }) => state === 'open') as unknown as OrderExceptionRow[];
    const replica = this.#replicas[0]!;
    for (const one of open.toSorted((a, b) =>
      `${a.orderNo}${a.kind}${a.dedupe}` < `${b.orderNo}${b.kind}${b.dedupe}` ? -1 : 1,
    )) {
      const stuck = refunds.find(
        ({ refundNo, state }) => refundNo === one.refundNo && state !== 'succeeded' && state !== 'failed',
      );
      const name = `the clerk, ${one.kind} of ${world.planned(one.orderNo)}`;
      void world.begin(name, FOREVER, async () => {
        const { repairs } = replica.operations;
        const tries: (() => Promise<unknown>)[] = [
          ...(stuck
            ? WAYS_TO_END.map(
                (how) => () => repairs.resolveRefund(ADMINISTRATOR, String(stuck['refundNo']), how, 'over'),
              )
            : []),
          ...ALL_ACTIONS.map((how) => () => repairs.resolveException(ADMINISTRATOR, one.id, how, 'over')),
        ];
        for (const attempt of tries) await attempt().catch(() => {});
      });
    }
    return open;
  }
}

const ALL_ACTIONS = ['retry', 'refund', 'accept', 'close', 'acknowledge'] as const;
const WAYS_TO_END = ['release', 'failed_at_channel', 'paid_elsewhere'] as const;

/** How exceptions are resolved while other work is running. */
const ACTIONS: Readonly<Record<string, readonly (typeof ALL_ACTIONS)[number][]>> = {
  effect_failed: ['retry'],
  order_overdue: ['close'],
  amount_mismatch: ['refund'],
  double_paid: ['refund'],
  refund_unexplained: [],
};

interface About {
  order: OrderPlan;
  act: Act;
  orderNo: string;
  known: Known;
}

/** Learns the order number and URL from an answer. */
function learn(known: Known, { facts }: Heard): void {
  const { orderNo, payUrl } = facts;
  if (typeof orderNo === 'string' && !known.numbers.includes(orderNo)) known.numbers.push(orderNo);
  if (typeof payUrl === 'string') known.payUrl = payUrl;
}
