import { hash } from 'node:crypto';
import { createReadShown } from '../../../server/db/queries/orders.ts';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import type { Store } from '../../../server/db/store.ts';
import { AppError } from '../../../server/errors.ts';
import {
  capturePayment,
  checkOrder,
  closePayment,
  queryPayment,
  renewCredential,
} from '../../../server/payments/orders/order.ts';
import type { Channel, ChannelKind, PayWay } from '../../../server/payments/channel.ts';
import { checkRefund, refundLookups } from '../../../server/payments/refunds/lookups.ts';
import { dueEffects } from '../../../server/payments/due-effects.ts';
import { composeEffects } from '../../../server/payments/side-effects.ts';
import { createWithKey } from '../../../server/payments/idempotency.ts';
import { receiveNotification } from '../../../server/payments/notifications/receive.ts';
import { operatorRepairs } from '../../../server/payments/exceptions/operator.ts';
import { type ActiveChannel, type Channels, PATIENCE, type Ports } from '../../../server/payments/ports.ts';
import { payerOrders } from '../../../server/payments/orders/payer.ts';
import { placePayment } from '../../../server/payments/orders/place.ts';
import { readPayments } from '../../../server/payments/view.ts';
import { refundPayment } from '../../../server/payments/refunds/refund.ts';
import type { Receipt } from '../../../server/simulator/notification.ts';
import type { Life } from './clockwork.ts';
import type { DueKind, DueThing } from './databases.ts';
import { CHANNELS_URL } from './channel-door.ts';
import { worldEffects } from './world-effects.ts';
import { DatabaseGone, sickStore } from './sick-store.ts';
import { transportOf } from './wire.ts';
import type { World } from './world.ts';

const KINDS: Readonly<Record<PayWay, ChannelKind>> = { alipay: alipayKind, wechat: wechatKind, paypal: paypalKind };

/** The project of every order of a world. */
export const PROJECT = 'default';
const PUBLIC_URL = 'http://127.0.0.1:8080';
/** Up to this amount payment messages are trusted (major units). */
const CONFIRM_ABOVE = 60;

/** The payment operations of one running service. */
export type Operations = ReturnType<typeof operationsOf>;

function operationsOf(ports: Ports, store: Store) {
  const refunds = checkRefund(ports);
  const capture = capturePayment(ports);
  const query = queryPayment(ports);
  const renew = renewCredential(ports);
  return {
    withKey: createWithKey(ports),
    place: placePayment(ports),
    query,
    close: closePayment(ports),
    refund: refundPayment(ports),
    capture,
    view: readPayments(ports).complete,
    repairs: operatorRepairs(ports),
    payer: payerOrders(ports, {
      query,
      capture: (order, cause) => capture(order.orderNo, { cause, actor: 'service' }, order),
      renew: (order) => renew(order, { cause: 'query', actor: 'payer' }),
      projectName: async () => null,
    }),
    hear: receiveNotification(ports),
    store,
    jobs: {
      order: checkOrder(ports),
      refund: (refundNo: string) => refunds(refundNo),
      question: refundLookups(ports),
      effect: dueEffects(ports).run,
    } satisfies Record<DueKind, (id: string) => Promise<void>>,
  };
}

/** One process of the service. After its death none of its work continues, and its successor starts without memory. */
export class Replica {
  readonly name: string;
  life: Life = { dead: true };
  /** How far its clock is ahead. */
  skewMs = 0;
  operations!: Operations;
  readonly #world: World;
  #change: (channel: Channel) => Channel = (channel) => channel;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
  }

  start(): void {
    const world = this.#world;
    this.life = { dead: false };
    const store = sickStore(world);
    const now = () => new Date(world.now + this.skewMs);
    const ports: Ports = {
      store,
      reports: store,
      readShown: createReadShown(store),
      now,
      channels: channelsOf(world, (channel) => this.#change(channel)),
      recordEvent: async (tx, { object: payload, notifyUrl = null, since: _since, ...named }) => {
        const id = `evt_${hash('sha256', `${named.objectNo}:${named.type}:${named.dedupe}`).slice(0, 24)}`;
        await tx.events.insertIfNew({ ...named, id, payload, notifyUrl, traceParent: null, createdAt: now() });
      },
      audit: async () => {},
      effects: composeEffects(worldEffects(world)),
      publicUrl: PUBLIC_URL,
      urlFault: () => undefined,
      confirmAbove: CONFIRM_ABOVE,
      refundAbove: 0,
      patience: PATIENCE,
      log: () => {},
      checkpoint: () => {},
      onReceived: () => {},
      count: () => {},
    };
    this.operations = operationsOf(ports, store);
  }

  /** Wraps every channel that it uses from now on. */
  spoilChannels(change: (channel: Channel) => Channel): void {
    this.#change = change;
  }

  die(): void {
    this.life.dead = true;
    this.#world.counts.deaths += 1;
  }

  /** Receives a channel message; returns the response, or nothing if the replica dies during it. */
  hear(payWay: PayWay, project: string, name: string, headers: Record<string, string>, body: Buffer): Promise<Receipt> {
    const world = this.#world;
    return world.begin(`${this.name}, ${name}`, this.life, async () => {
      try {
        const { ack, result } = await this.operations.hear(payWay, project, headers, body, '192.0.2.1');
        world.note(`${this.name}, ${name}: ${result}`);
        return { status: ack.status, body: ack.body };
      } catch (error) {
        world.note(`${this.name}, ${name}: ${String(error)}`);
        blameUnforeseen(world, `a message (${name})`, error);
        return { status: 503, body: '' };
      }
    });
  }

  /** Works a due row unless another replica has it. */
  work({ kind, id, orderNo }: DueThing): void {
    const world = this.#world;
    const { database } = world;
    const name = `${this.name}, ${kind} of ${world.planned(orderNo)}`;
    void world.begin(name, this.life, async () => {
      try {
        const now = () => new Date(world.now + this.skewMs);
        const { store, jobs } = this.operations;
        const isMine = await store.transaction((tx) => database.claim(tx, kind, id, now()));
        if (isMine) await jobs[kind](id);
      } catch (error) {
        world.note(`${name} fails: ${String(error)}`);
        blameUnforeseen(world, name, error);
      }
    });
  }
}

/** Reports a failure of work that is neither a refusal nor caused by a broken connection. */
export function blameUnforeseen(world: World, what: string, error: unknown): void {
  if (error instanceof DatabaseGone || error instanceof AppError) return;
  world.wrong.push(`${what} ends with ${String(error)}`);
}

/** The channels of the one account at each of the three, configured as in simulator mode. */
function channelsOf(world: World, change: (channel: Channel) => Channel): Channels {
  const built = new Map<PayWay, Channel>();
  const channelOf = (payWay: PayWay): Channel => {
    const known = built.get(payWay) ?? change(build(payWay));
    built.set(payWay, known);
    return known;
  };
  const build = (payWay: PayWay) => {
    const account = world.core.accounts.get(payWay, 'default')!;
    return KINDS[payWay].create({
      ...world.core.channelSimulator(payWay).configFor(account, world.core),
      mode: 'simulator',
      simulatorUrl: CHANNELS_URL,
      notifyUrl: `${PUBLIC_URL}/notify/${payWay}/${PROJECT}`,
      send: transportOf(world, payWay),
      now: () => new Date(),
    });
  };
  const versions = new Set([1]);
  const active = (payWay: PayWay): ActiveChannel => {
    const channel = channelOf(payWay);
    return { channel, kind: KINDS[payWay], mode: 'simulator', account: channel.account, configVersion: 1 };
  };
  return {
    forNew: async (_project, payWay) => active(payWay),
    forNewAmong: async (_project, payWays) => payWays.map(active),
    forOrder: async ({ payWay }) => channelOf(payWay),
    async forNotifications(_project, payWay) {
      const channel = channelOf(payWay);
      return [{ channel, mode: 'simulator', account: channel.account, versions, payeeVersions: versions }];
    },
    kindOf: (payWay) => KINDS[payWay],
  };
}
