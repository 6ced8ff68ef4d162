import { AppError } from '../../../server/errors.ts';
import type { Answer, KeyClaim } from '../../../server/payments/idempotency.ts';
import type { Requester } from '../../../server/payments/ports.ts';
import type { Line } from '../check-history.ts';
import { orderFacts } from '../histories/market.ts';
import type { Heard, Journal } from './journal.ts';
import { type Act, type OrderPlan, WAYS } from './plan.ts';
import { blameUnforeseen, type Operations, PROJECT, type Replica } from './replica.ts';
import type { World } from './world.ts';

/** The requester of an administrator. */
export const ADMINISTRATOR: Requester = { owner: 'any', actor: 'admin:1' };

type Facts = Line['value'];
type Work = (operations: Operations, claim?: KeyClaim) => Promise<object>;

/** A client request. */
interface Request {
  readonly f: string;
  /** The shop of the request; undefined = an administrator's. */
  readonly shop?: string;
  readonly asked: Facts;
  /** The replica that is called. */
  readonly replica: number;
  /** Its Idempotency-Key. */
  readonly key?: string | undefined;
  readonly body?: object;
  /** The plan's order of the request, while it has no number. */
  readonly about?: string;
}

/** Requests of merchants and administrators to the replicas, answered as in `server/http/endpoint.ts`. */
export class Clients {
  readonly #world: World;
  readonly #journal: Journal;
  readonly #replicas: readonly Replica[];

  constructor(world: World, journal: Journal, replicas: readonly Replica[]) {
    this.#world = world;
    this.#journal = journal;
    this.#replicas = replicas;
  }

  /** Places an order, for the first time or again. */
  place(order: OrderPlan, { id, replica }: Act): Promise<Heard> {
    const { amount, shop, merchantOrderNo, key, expireSeconds, way } = order;
    const { payWay, scene } = WAYS[way];
    const payee = {
      clientId: shop,
      project: PROJECT,
      latePayment: { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' },
      limits: null,
      actor: `app:${shop}`,
    } as const;
    const request = {
      subject: 'Seeded',
      amount: amount / 100,
      payWay,
      scene,
      expireSeconds,
      ...(merchantOrderNo ? { merchantOrderNo } : {}),
      ...(scene === 'h5' || scene === 'code' ? { clientIp: '192.0.2.7' } : {}),
      ...(scene === 'code' ? { payCode: payCodeOf(order) } : {}),
    };
    const asked = { amount, payWay, ...(key && { key }), ...(merchantOrderNo && { merchantOrderNo }) };
    const what = { f: 'place', shop, asked, replica, key, body: request, about: order.id };
    return this.#ask(`${id} (place)`, what, async (operations, claim) => {
      const made = await operations.place(payee, request, { claim });
      return operations.view(made);
    });
  }

  query(shop: string, orderNo: string, { id, replica }: Act): Promise<Heard> {
    return this.#ask(`${id} (query)`, { f: 'query', shop, asked: { orderNo }, replica }, async (operations) => {
      const { order, stale } = await operations.query(requesterOf(shop), orderNo);
      return { ...(await operations.view(order)), stale };
    });
  }

  close(shop: string, orderNo: string, { id, replica }: Act): Promise<Heard> {
    return this.#ask(`${id} (close)`, { f: 'close', shop, asked: { orderNo }, replica }, async (operations, claim) =>
      operations.view(await operations.close(requesterOf(shop), orderNo, claim)),
    );
  }

  capture(shop: string, orderNo: string, { id, replica }: Act): Promise<Heard> {
    return this.#ask(`${id} (capture)`, { f: 'capture', shop, asked: { orderNo }, replica }, async (operations) => {
      const via = { cause: 'capture', actor: `app:${shop}` };
      const known = await operations.store.read((tx) => tx.orders.find({ orderNo }));
      return operations.view(await operations.capture(orderNo, via, known));
    });
  }

  refund(shop: string, orderNo: string, { id, replica, amount = 1, number, key }: Act): Promise<Heard> {
    // The same refund of another order is a different one.
    const own = this.#world.planned(orderNo);
    const merchantRefundNo = number && `${number}-${own}`;
    const mine = key && `${key}-${own}`;
    const request = { orderNo, refundAmount: amount / 100, ...(merchantRefundNo && { merchantRefundNo }) };
    const asked = { orderNo, amount, ...(mine && { key: mine }), ...(merchantRefundNo && { merchantRefundNo }) };
    const what = { f: 'refund', shop, asked, replica, key: mine, body: request };
    return this.#ask(`${id} (refund)`, what, async (operations, claim) => {
      const { refund } = await operations.refund(requesterOf(shop), request, { claim });
      return { refundNo: refund.refundNo, refundStatus: refund.state };
    });
  }

  /** An administrator's action on an order. */
  administer(
    name: string,
    f: string,
    orderNo: string,
    replica: number,
    work: (operations: Operations) => Promise<unknown>,
  ): Promise<Heard> {
    return this.#ask(name, { f, asked: { about: orderNo }, replica }, async (operations) => {
      await work(operations);
      return {};
    });
  }

  /** The service's final answer about an order to an administrator. */
  look(orderNo: string): Promise<Heard> {
    const name = `at the end, ${this.#world.planned(orderNo)}`;
    return this.#ask(name, { f: 'query', asked: { orderNo }, replica: 0 }, async (operations) => {
      const { order, stale } = await operations.query(ADMINISTRATOR, orderNo);
      return { ...(await operations.view(order)), stale };
    });
  }

  #ask(name: string, { f, shop, asked, replica: wanted, key, body = {}, about }: Request, work: Work): Promise<Heard> {
    const world = this.#world;
    const replica = this.#livingOne(wanted);
    const known = shop === undefined ? asked : { shop, token: `t-${shop}`, ...asked };
    return this.#journal.ask(f, known, async () => {
      if (!replica) return { end: 'fail', facts: { code: 'ECONNREFUSED' } };
      const task = `${replica.name}, ${name}`;
      return world.begin(
        task,
        replica.life,
        async () => {
          const { operations } = replica;
          const run = (claim?: KeyClaim) => answerOf(world, task, () => work(operations, claim));
          const request = { scope: `app:${shop ?? 'admin'}` as const, route: `POST /${f}`, key: key ?? '', body };
          const heard = await (key === undefined ? run() : operations.withKey(request, run)).catch((error: unknown) =>
            refusalOf(world, task, error),
          );
          const facts = this.#factsOf(heard);
          world.note(
            `${task}: ${facts.end} ${String(facts.facts['code'] ?? facts.facts['status'] ?? facts.facts['refundStatus'] ?? '')}`,
          );
          return facts;
        },
        about,
      );
    });
  }

  /** The requested replica, or any live one. */
  #livingOne(wanted: number): Replica | undefined {
    const living = this.#replicas.filter(({ life }) => !life.dead);
    const replica = this.#replicas[wanted];
    return replica && !replica.life.dead ? replica : living[0];
  }

  #factsOf({ status, body, replayed }: Answer): Heard {
    const json = JSON.parse(body) as Facts;
    const again = replayed ? { replayed } : {};
    if (status >= 400) {
      const { code, orderNo, refundNo } = json;
      // An order that its channel refused was created and has failed.
      const isRefused = status < 500 && code !== 'channel_refused';
      return { end: isRefused ? 'fail' : 'info', facts: { http: status, code, orderNo, refundNo, ...again } };
    }
    if (!('amountMinor' in json)) return { end: 'ok', facts: { ...json, ...again } };
    const { clientId: shop, payUrl } = json;
    const signed = String(payUrl).includes('/alipay/gateway.do?') ? { payUrl } : {};
    return { end: 'ok', facts: { ...orderFacts({ data: json }), shop, ...signed, ...again } };
  }
}

function requesterOf(clientId: string): Requester {
  return { owner: { clientId }, actor: `app:${clientId}` };
}

/** The answer to store: the result, or the reason of the refusal. */
async function answerOf(world: World, task: string, work: () => Promise<object>): Promise<Answer> {
  try {
    return { status: 200, headers: {}, body: JSON.stringify(await work()) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refusalOf(world, task, error);
  }
}

function refusalOf(world: World, task: string, error: unknown): Answer {
  blameUnforeseen(world, task, error);
  const { code, status, options } =
    error instanceof AppError ? error : { code: 'database_unavailable', status: 503, options: {} };
  return { status, headers: {}, body: JSON.stringify({ code, ...options.extra }) };
}

/** A payer's code, a new one for each order. The simulator's Alipay payers act by its last digit (`alipay/trades.ts`). */
function payCodeOf({ id, way }: OrderPlan): string {
  const number = Number(id.slice(1));
  const text = String(number).padStart(15, '0');
  return way === 'alipay code' ? `28${text}${number % 3 === 0 ? 1 : number % 10}` : `13${text}0`;
}
