// Calls that are paid with coins: the operations on them, running their handlers, the coin fields of a 402, and how the
// API shows them.
import type { CoinCallRow } from '../db/entities/skillpay.ts';
import type { Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { type KeyClaim, claimKey, digest } from '../payments/idempotency.ts';
import { majorNumber } from '../money.ts';
import { newNumber } from '../payments/numbers.ts';
import { type Redeemed, coinAnswer, coinsBackAnswer } from './answers.ts';
import { LOOK_MS, MAX_ATTEMPTS, type Obstacle, claimPatch, isLive, nextAttempt, obstacleTo, pause } from './claim.ts';
import { type Content, HandlerFailed, asFailure, readyContent, runHandler } from './handlers.ts';
import type { SkillCaller, SkillPorts, SkillRequest } from './ports.ts';
import {
  CoinsWhole,
  FulfilmentInProgress,
  FulfilmentUnavailable,
  OrderRefunded,
  RefundAfterFulfilment,
  ResourceMismatch,
} from './errors.ts';
import { type Skill, findSkill } from './resource.ts';

export interface CoinCalls {
  /**
   * Debits the coins and creates the order in one transaction. If the product has fixed content, the content and the
   * receipt are stored in the same transaction. Returns undefined and writes nothing if the call must be paid with
   * money.
   */
  pay(caller: SkillCaller, request: SkillRequest, claim?: KeyClaim): Promise<Redeemed | undefined>;
  /** Returns the content of a call that the application paid with coins; undefined if there is none. */
  replay(caller: SkillCaller, orderNo: string, request: SkillRequest | undefined): Promise<Redeemed | undefined>;
  /** Returns the current state of a call. Returns undefined if no call paid with coins has this order number. */
  query(caller: SkillCaller, orderNo: string): Promise<CoinCallView | undefined>;
  /**
   * Refunds all coins of a call once. A repeated request returns the same result. Returns undefined if no call paid
   * with coins has this order number.
   */
  refund(caller: SkillCaller, orderNo: string, how: RefundHow): Promise<CoinCallView | undefined>;
}

interface RefundHow {
  isPart: boolean;
  claim: KeyClaim | undefined;
}

/** Creates the operations on calls that are paid with coins. */
export function coinCalls(ports: SkillPorts, work: CoinWork): CoinCalls {
  const { store, now, codes } = ports;
  const find = ({ clientId }: SkillCaller, orderNo: string) =>
    store.read((tx) => tx.coinCalls.find({ orderNo, clientId }));

  return {
    async pay(caller, request, claim) {
      const { userId } = request;
      if (userId === undefined || !(await isOpen(caller))) return undefined;
      const skill = await findSkill(ports, caller.project, request.resource);
      if (!skill.coinPrice) return undefined;
      await codes.prepare('live');
      const row = draft(caller, skill, userId, request);
      const ready = readyContent(row.handler);
      const isPaid = await store.transaction(async (tx) => {
        if (!(await ports.charges.take(tx, { ...row, memo: row.subject }))) return false;
        await tx.coinCalls.insert(row);
        if (ready) await keepContent(ports, tx, row, { ...ready, receipt: await codes.coinReceipt(row, ready.text) });
        if (claim) await claimKey(tx, claim, row.orderNo, now());
        return true;
      });
      if (!isPaid) return undefined;
      ports.checkpoint('coins.paid');
      if (!ready) await pause(work.perform(row), ports.patience.work);
      return deliver(row.orderNo, { mine: true });
    },
    async replay(caller, orderNo, request) {
      const row = await find(caller, orderNo);
      if (!row) return undefined;
      requireSame(row, request);
      return deliver(orderNo, { mine: false });
    },
    async query(caller, orderNo) {
      const row = await find(caller, orderNo);
      return row && viewCoinCall(row);
    },
    async refund(caller, orderNo, { isPart, claim }) {
      if (!(await find(caller, orderNo))) return undefined;
      if (isPart) throw new CoinsWhole();
      return store.transaction(async (tx) => {
        const row = await lockCall(tx, orderNo);
        const after = row.refundedAt ? row : await giveBack(tx, row);
        if (claim) await claimKey(tx, claim, orderNo, now());
        return viewCoinCall(after);
      });
    },
  };

  /**
   * Refunds the coins of a call. Throws while a handler is running. If a process stopped without storing a result, its
   * fencing number becomes invalid. That process can then no longer store content.
   */
  async function giveBack(tx: Tx, row: CoinCallRow): Promise<CoinCallRow> {
    const { orderNo, fulfilment, fencing } = row;
    if (isLive(row, now())) throw new FulfilmentInProgress(orderNo, 2);
    if (fulfilment === 'done' && !row.refundAfterFulfilment) throw new RefundAfterFulfilment(orderNo);
    await ports.charges.giveBack(tx, { ...row, memo: row.subject });
    const ended = fulfilment === 'running' ? ({ fulfilment: 'none', fencing: fencing + 1 } as const) : {};
    const patch = { refundedAt: now(), nextAttemptAt: null, leasedUntil: null, ...ended };
    await tx.coinCalls.update({ orderNo }, patch);
    return { ...row, ...patch };
  }

  /** Runs the handler, or waits while another process runs it. Every call returns the stored result. */
  async function deliver(orderNo: string, { mine }: { mine: boolean }): Promise<Redeemed> {
    const end = performance.now() + ports.patience.work;
    for (;;) {
      const row = await store.read((tx) => tx.coinCalls.find({ orderNo }));
      if (!row) throw new Error('The call was paid with coins, but the database has no row for it.');
      if (row.fulfilment === 'failed') return coinsBackAnswer(row);
      if (row.refundedAt) throw new OrderRefunded(orderNo);
      if (row.fulfilment === 'done') return coinAnswer(row, { replayed: !mine });
      const left = end - performance.now();
      if (left <= 0) throw new FulfilmentInProgress(orderNo);
      const here = work.underWay(orderNo);
      if (here || isLive(row, now())) {
        await pause(here, here ? left : LOOK_MS);
        continue;
      }
      const begun = await work.begin(orderNo);
      if (begun.kind === 'later') throw new FulfilmentUnavailable(orderNo, begun.seconds);
      if (begun.kind === 'begun') await pause(begun.work, left);
    }
  }

  /** Whether the project is enabled. If not, the call is handled like one paid with money, which returns the error. */
  async function isOpen({ clientId, project }: SkillCaller): Promise<boolean> {
    return store.read(async (tx) => {
      const app = await tx.apps.find({ clientId });
      return app?.project === project && (await tx.projects.find({ code: project }))?.enabled === true;
    });
  }

  function draft({ clientId, project }: SkillCaller, skill: Skill, userId: string, request: SkillRequest): CoinCallRow {
    const at = now();
    const { input = null } = request;
    const { code: coin, amount } = skill.coinPrice as NonNullable<Skill['coinPrice']>;
    const row: CoinCallRow = {
      orderNo: newNumber('X', at),
      clientId,
      project,
      userId,
      resource: skill.code,
      productVersion: skill.version,
      subject: skill.name.slice(0, 127),
      bodyDigest: digest({ resource: skill.code, input }),
      input,
      handler: skill.resource,
      coin,
      amount: BigInt(amount),
      refundAfterFulfilment: skill.refundAfterFulfilment,
      fulfilment: 'none',
      fencing: 0,
      attempts: 0,
      firstAttemptAt: null,
      leasedUntil: null,
      nextAttemptAt: null,
      content: null,
      contentType: null,
      receipt: null,
      failureCode: null,
      failureMessage: null,
      createdAt: at,
      fulfilledAt: null,
      refundedAt: null,
    };
    return { ...row, ...claimPatch(row, at) };
  }
}

/**
 * Throws if a repeated request does not match the paid call. A request without resource and input matches. Otherwise
 * its resource and input must equal those of the paid call. A missing input then counts as null.
 */
function requireSame(row: CoinCallRow, request: SkillRequest | undefined): void {
  if (!request) return;
  const { userId = row.userId, resource, input } = request;
  const isEmpty = resource === undefined && input === undefined;
  const isSame = isEmpty || digest({ resource: resource ?? row.resource, input: input ?? null }) === row.bodyDigest;
  if (userId !== row.userId || !isSame) throw new ResourceMismatch();
}

/**
 * The result of starting a handler: it was started, or `kind` says why not. `over` means that the result is stored or
 * the coins were refunded.
 */
type Begun = { kind: 'begun'; work: Promise<void> } | Obstacle | { kind: 'over' };

/** Runs the handlers of calls that are paid with coins, under the same rules as for money. */
interface CoinWork {
  /** Runs the handler of a call that is already claimed. Resolves when the attempt has ended, and never rejects. */
  perform(row: CoinCallRow): Promise<void>;
  /**
   * Claims the call and starts its handler. With `due`, the pause after a failed attempt is not checked, because the
   * job has already waited.
   */
  begin(orderNo: string, options?: { due?: boolean }): Promise<Begun>;
  /** The promise of the handler that this process runs for a call; undefined = it runs none. */
  underWay(orderNo: string): Promise<void> | undefined;
  /** Runs the next step of a call, e.g. a retry. Only for the job, after it has reserved the call for this process. */
  resume(orderNo: string): Promise<void>;
  /** Resolves when this process runs no more handlers of calls that are paid with coins. */
  idle(): Promise<void>;
}

/**
 * Creates the functions that run handlers. If a handler fails permanently, the failure and the refund of the coins are
 * stored in one transaction.
 */
export function coinWork(ports: SkillPorts): CoinWork {
  const { store, now, codes, log } = ports;
  const running = new Map<string, Promise<void>>();

  return {
    perform: (row) => keepTrack(row),
    begin,
    underWay: (orderNo) => running.get(orderNo),
    async resume(orderNo) {
      const begun = await begin(orderNo, { due: true });
      if (begun.kind === 'begun') await begun.work;
      if (begun.kind === 'over') await rest(orderNo);
    },
    async idle() {
      await Promise.all(running.values());
    },
  };

  async function begin(orderNo: string, { due = false } = {}): Promise<Begun> {
    const claimed = await store.transaction(async (tx): Promise<CoinCallRow | Exclude<Begun, { work: unknown }>> => {
      const row = await lockCall(tx, orderNo);
      if (row.fulfilment === 'done' || row.refundedAt) return { kind: 'over' };
      const obstacle = obstacleTo(row, now(), due);
      if (obstacle?.kind === 'exhausted') await giveUp(tx, row, brokenOff(row));
      if (obstacle) return obstacle;
      const patch = claimPatch(row, now());
      await tx.coinCalls.update({ orderNo }, patch);
      return { ...row, ...patch };
    });
    if ('kind' in claimed) return claimed;
    return { kind: 'begun', work: keepTrack(claimed) };
  }

  function keepTrack(row: CoinCallRow): Promise<void> {
    const { orderNo } = row;
    const work = attempt(row)
      .catch((error: unknown) => log('error', 'a fulfilment was interrupted; its lease expires', { orderNo, error }))
      .finally(() => running.delete(orderNo));
    running.set(orderNo, work);
    return work;
  }

  async function attempt(row: CoinCallRow): Promise<void> {
    const { orderNo, fencing } = row;
    await codes.prepare('live');
    let content: Content;
    try {
      content = await runHandler(ports.send, row);
    } catch (error) {
      return fail(orderNo, fencing, asFailure(error));
    }
    ports.checkpoint('coins.worked');
    const receipt = await codes.coinReceipt(row, content.text);
    await store.transaction(async (tx) => {
      const found = await lockCall(tx, orderNo);
      if (found.fencing !== fencing || found.fulfilment !== 'running') return;
      await keepContent(ports, tx, found, { ...content, receipt });
    });
    ports.checkpoint('coins.kept');
  }

  async function fail(orderNo: string, fencing: number, failure: HandlerFailed): Promise<void> {
    log('warn', 'a skill handler failed', { orderNo, code: failure.code, transient: failure.transient });
    await store.transaction(async (tx) => {
      const row = await lockCall(tx, orderNo);
      if (row.fencing !== fencing || row.fulfilment !== 'running') return;
      if (!failure.transient || row.attempts >= MAX_ATTEMPTS) return giveUp(tx, row, failure);
      await tx.coinCalls.update(
        { orderNo },
        {
          fulfilment: 'none',
          leasedUntil: null,
          nextAttemptAt: nextAttempt(row.attempts, now()),
          failureCode: failure.code,
          failureMessage: failure.message,
        },
      );
    });
  }

  async function giveUp(tx: Tx, row: CoinCallRow, { code, message }: HandlerFailed): Promise<void> {
    await ports.charges.giveBack(tx, { ...row, memo: row.subject });
    await tx.coinCalls.update(
      { orderNo: row.orderNo },
      {
        fulfilment: 'failed',
        fencing: row.fencing + 1,
        leasedUntil: null,
        nextAttemptAt: null,
        failureCode: code.slice(0, 64),
        failureMessage: message,
        refundedAt: now(),
      },
    );
  }

  async function rest(orderNo: string): Promise<void> {
    await store.autocommit((tx) => tx.coinCalls.update({ orderNo }, { nextAttemptAt: null, leasedUntil: null }));
  }
}

/** To avoid deadlocks, every transaction must lock this row before the coin account. */
async function lockCall(tx: Tx, orderNo: string): Promise<CoinCallRow> {
  const row = await tx.coinCalls.lock({ orderNo });
  if (!row) throw new NotFound('order');
  return row;
}

async function keepContent(
  { now, recordEvent }: Pick<SkillPorts, 'now' | 'recordEvent'>,
  tx: Tx,
  row: CoinCallRow,
  { text, contentType, receipt }: Content & { receipt: string },
): Promise<void> {
  const { orderNo, clientId, project, resource, userId, coin, amount, createdAt: since } = row;
  const fulfilledAt = now();
  await tx.coinCalls.update(
    { orderNo },
    {
      fulfilment: 'done',
      content: text,
      contentType,
      receipt,
      fulfilledAt,
      leasedUntil: null,
      nextAttemptAt: null,
      failureCode: null,
      failureMessage: null,
    },
  );
  await recordEvent(tx, {
    type: 'skillpay.fulfilled',
    clientId,
    project,
    objectNo: orderNo,
    dedupe: 'once',
    since,
    object: {
      outTradeNo: orderNo,
      orderNo,
      resource,
      userId,
      coin: { code: coin, amount: Number(amount) },
      fulfilledAt: fulfilledAt.toISOString(),
    },
  });
}

function brokenOff({ failureCode, failureMessage }: CoinCallRow): HandlerFailed {
  const message = failureMessage ?? 'Fulfilment was interrupted repeatedly.';
  return new HandlerFailed(failureCode ?? 'broken_off', message, { transient: false });
}

/** The coin price, and the packages that sell the coin, for a 402 if the user has too few coins. */
interface CoinsWanted {
  code: string;
  price: number;
  available: number;
  packs: { product: string; name: string; price: number; currency: string; payWays: string[]; coins: number }[];
}

/** Returns the coin fields of a 402. Empty if the resource has no coin price, or if the call contains no `userId`. */
export async function coinsWanted(
  ports: SkillPorts,
  { project }: SkillCaller,
  { resource, userId }: SkillRequest,
): Promise<{ coins?: CoinsWanted }> {
  if (userId === undefined) return {};
  const { coinPrice } = await findSkill(ports, project, resource);
  if (!coinPrice) return {};
  const { code, amount: price } = coinPrice;
  const now = ports.now();
  return ports.store.read(async (tx) => {
    const account = await tx.coinAccounts.find({ project, coin: code, userId });
    const products = await tx.products.list(
      { project, kind: 'coin_package', enabled: true },
      { orderBy: { code: 'asc' }, limit: 1000 },
    );
    const packs = products
      .filter(
        ({ coin, saleFrom, saleTo }) =>
          coin?.code === code && !(saleFrom && now < saleFrom) && !(saleTo && now >= saleTo),
      )
      .map(({ code: product, name, priceMinor, currency, payWays, coin }) => ({
        product,
        name,
        price: majorNumber({ minor: priceMinor, currency }),
        currency,
        payWays,
        coins: (coin?.amount ?? 0) + (coin?.bonus ?? 0),
      }));
    const available = account ? Number(account.balance - account.held) : 0;
    return { coins: { code, price, available, packs } };
  });
}

function viewCoinCall(row: CoinCallRow) {
  const createdAt = row.createdAt.toISOString();
  return {
    outTradeNo: row.orderNo,
    orderNo: row.orderNo,
    kind: 'coin' as const,
    resource: row.resource,
    subject: row.subject,
    userId: row.userId,
    status: row.refundedAt ? ('refunded' as const) : ('paid' as const),
    fulfilment: row.fulfilment,
    coin: { code: row.coin, amount: Number(row.amount) },
    createdAt,
    paidAt: createdAt,
    fulfilledAt: row.fulfilledAt?.toISOString() ?? null,
    refundedAt: row.refundedAt?.toISOString() ?? null,
  };
}

type CoinCallView = ReturnType<typeof viewCoinCall>;
