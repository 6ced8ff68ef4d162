import { createReadShown } from '../../../server/db/queries/orders.ts';
import { CommitUnknown } from '../../../server/errors.ts';
import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import type {
  Channel,
  ChannelKind,
  DisputeDesk,
  Notification,
  OrderRef,
  PlaceOrder,
  RefundRef,
} from '../../../server/payments/channel.ts';
import { composeEffects } from '../../../server/payments/side-effects.ts';
import { PATIENCE, type Ports } from '../../../server/payments/ports.ts';
import { runRead, runTransaction } from '../memory/memory-store.ts';
import type { Snapshot } from '../memory/tables.ts';
import { reseed } from './seeded-random.ts';
import { ACCOUNT, type Call, type Flavour } from './truth.ts';

/** One step of an operation outside its own code, and the result. */
export type Step =
  | { readonly kind: 'read'; readonly on: Snapshot; readonly now: number }
  /** `told`: the commit was confirmed; `lost`: it was made without a response; `refused`: it was not made and had no response. */
  | {
      readonly kind: 'write';
      readonly on: Snapshot;
      readonly now: number;
      readonly commit: 'told' | 'lost' | 'refused';
    }
  | { readonly kind: 'call'; readonly said: unknown; readonly now: number };

/** The next step that an operation requests. */
export type Wanted = { readonly kind: 'read' | 'write' } | { readonly kind: 'call'; readonly call: Call };

/** The end of an operation: its result, or the error that its caller receives. */
export type Ended = { readonly result: unknown } | { readonly error: unknown };

/** The position of an operation after its steps. */
export interface Standing {
  /** The database after its last step, if that was a successful write. */
  readonly snapshot?: Snapshot;
  /** The result of the last read or write; distinguishes two positions of an operation. */
  readonly saw?: unknown;
  readonly wants?: Wanted;
  readonly ended?: Ended;
}

/** An operation of the service on the given ports. */
export type Operation = (ports: Ports) => Promise<unknown>;

/** The state that the ports of a run are built from. */
export interface Setting {
  readonly flavour: Flavour;
  readonly startedAt: number;
  readonly seed: string;
  /** The messages available to an operation, by index. */
  readonly notices: readonly Notification[];
}

const KINDS: Readonly<Record<Flavour, ChannelKind>> = {
  scanned: alipayKind,
  opened: wechatKind,
  till: wechatKind,
  approved: paypalKind,
};

/**
 * Runs an operation through its known steps, the last of them for the first time, and returns the next step that it requests. The
 * same steps always lead to the same position: the clock, the random numbers and everything outside come from here.
 */
export async function follow(operation: Operation, setting: Setting, steps: readonly Step[]): Promise<Standing> {
  reseed(setting.seed);
  let at = 0;
  let now = setting.startedAt;
  let snapshot: Snapshot | undefined;
  let saw: unknown;
  let reached: (wanted: Wanted) => void = () => {};
  const stop = new Promise<Wanted>((resolve) => (reached = resolve));

  /** Returns the next step if it is known; otherwise the operation stays suspended forever. */
  async function next<Kind extends Step['kind']>(
    wanted: Wanted & { kind: Kind },
  ): Promise<Extract<Step, { kind: Kind }>> {
    const step = steps[at++];
    if (!step) {
      if (at > steps.length + 1) throw new Error('an operation did two things at once');
      reached(wanted);
      return new Promise(() => {});
    }
    if (step.kind !== wanted.kind) throw new Error(`an operation wanted to ${wanted.kind} where it would ${step.kind}`);
    ({ now } = step);
    return step as Extract<Step, { kind: Kind }>;
  }

  async function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { on, commit } = await next({ kind: 'write' });
    snapshot = undefined;
    const isLast = at === steps.length;
    const done = await runTransaction(on, work);
    if (isLast && commit !== 'refused') ({ snapshot } = done);
    if (commit !== 'told') throw new CommitUnknown(new Error('the connection broke'));
    saw = done.result;
    return done.result;
  }

  async function read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const { on } = await next({ kind: 'read' });
    const result = await runRead(on, work);
    saw = result;
    return result;
  }

  const store: Store = { transaction: write, autocommit: write, read };
  const call = async (wanted: Call) => (await next({ kind: 'call', call: wanted })).said as never;
  const ports = portsOf(setting, store, call, () => new Date(now));
  const run = operation(ports).then(
    (result): Ended => ({ result }),
    (error: unknown): Ended => ({ error }),
  );
  const first = await Promise.race([stop.then((wants) => ({ wants })), run.then((ended) => ({ ended }))]);
  return { ...first, ...(snapshot ? { snapshot } : {}), saw };
}

function portsOf(
  { flavour, notices }: Setting,
  store: Store,
  call: (wanted: Call) => Promise<never>,
  now: () => Date,
): Ports {
  const kind = KINDS[flavour];
  const channel = channelOf(kind, notices, call);
  const active = { channel, kind, mode: 'live', account: ACCOUNT, configVersion: 1 } as const;
  return {
    store,
    reports: store,
    readShown: createReadShown(store),
    now,
    channels: {
      forNew: async () => active,
      forNewAmong: async () => [active],
      forOrder: async () => channel,
      forNotifications: async () => [
        { channel, mode: 'live', account: ACCOUNT, versions: new Set([1]), payeeVersions: new Set([1]) },
      ],
      kindOf: () => kind,
    },
    recordEvent: async (tx, event) => {
      const { object: payload, notifyUrl = null, since: _since, ...named } = event;
      const id = `${event.objectNo}:${event.type}:${event.dedupe}`;
      await tx.events.insertIfNew({ ...named, id, payload, notifyUrl, traceParent: null, createdAt: now() });
    },
    audit: async () => {},
    effects: composeEffects(),
    publicUrl: 'https://pay.example.com',
    urlFault: () => undefined,
    confirmAbove: 1_000_000,
    refundAbove: 0,
    patience: PATIENCE,
    log: () => {},
    checkpoint: () => {},
    onReceived: () => {},
    count: () => {},
  };
}

/** Only the explored calls are ever made. */
function disputeDesk(call: (wanted: Call) => Promise<never>): DisputeDesk {
  const about = (method: Call['method'], number: string) =>
    call({ method, orderNo: number.slice('D-'.length), amount: 0n, expiresAt: 0, number, refundAmount: null });
  const never = async () => {
    throw new Error('this call is not explored');
  };
  return {
    read: (number) => about('readDispute', number),
    accept: (number) => about('acceptDispute', number),
    list: never,
    answer: never,
  };
}

function channelOf(
  kind: ChannelKind,
  notices: readonly Notification[],
  call: (wanted: Call) => Promise<never>,
): Channel {
  const about = (method: Call['method'], order: OrderRef | PlaceOrder, more: Partial<Call> = {}): Promise<never> =>
    call({
      method,
      orderNo: order.orderNo,
      amount: order.amount.minor,
      expiresAt: order.expiresAt.getTime(),
      number: null,
      refundAmount: null,
      ...more,
    });
  const refundCall = (method: Call['method'], ref: RefundRef | (RefundRef & { reason: string })) =>
    about(method, ref, { number: ref.refundNo, refundAmount: ref.refundAmount.minor });
  return {
    payWay: kind.payWay,
    account: ACCOUNT,
    place: (order) => about('place', order),
    query: (order) => about('query', order),
    close: (order) => about('close', order),
    ...(kind.payWay === 'paypal' ? { capture: (order) => about('capture', order) } : {}),
    refund: (order) => about('refund', order, { number: order.refundNo, refundAmount: order.refundAmount.minor }),
    queryRefund: (order) => refundCall('queryRefund', order),
    lookUpRefund: (order, number) => about('lookUpRefund', order, { number }),
    ...(kind.payWay === 'paypal' ? { disputes: disputeDesk(call) } : {}),
    readNotification: async (_headers, rawBody) => notices[Number(rawBody.toString())]!,
    ackNotification: (verdict) => ({
      status: verdict === 'accepted' ? 200 : 400,
      contentType: 'text/plain',
      body: verdict,
    }),
    probe: async () => {
      throw new Error("this channel's test call is not explored");
    },
  };
}
