import type { CoinCallRow } from '../../db/entities/skillpay.ts';
import type { Tx } from '../../db/store.ts';
import { claimKey, digest, type KeyClaim } from '../../payments/idempotency.ts';
import { newNumber } from '../../payments/numbers.ts';
import { coinAnswer, coinsBackAnswer, type Redeemed } from '../answers.ts';
import { claimPatch, isLive } from '../claim.ts';
import { readyContent } from '../handlers.ts';
import type { SkillCaller, SkillPorts, SkillRequest } from '../ports.ts';
import {
  CoinsWhole,
  FulfilmentInProgress,
  FulfilmentUnavailable,
  OrderRefunded,
  RefundAfterFulfilment,
  ResourceMismatch,
} from '../refusals.ts';
import { findSkill, type Skill } from '../resource.ts';
import { LOOK_MS, pause } from '../waiting.ts';
import { type CoinCallView, viewCoinCall } from './view.ts';
import { type CoinWork, keepContent, lockCall } from './work.ts';

/** The operations on calls that coins pay. */
export interface CoinCalls {
  /** Debit and order in one commit, with content and receipt where the product has its content itself; undefined, and nothing is written, when the call has to be paid with money. */
  pay(caller: SkillCaller, request: SkillRequest, claim?: KeyClaim): Promise<Redeemed | undefined>;
  /** The content of a call of the application; undefined when the number is not of such a call. */
  replay(caller: SkillCaller, orderNo: string, request: SkillRequest | undefined): Promise<Redeemed | undefined>;
  /** The call as it is now; undefined when the number is not of such a call. */
  query(caller: SkillCaller, orderNo: string): Promise<CoinCallView | undefined>;
  /** All its coins come back, once; asked again it says the same. Undefined when the number is not of such a call. */
  refund(caller: SkillCaller, orderNo: string, how: RefundHow): Promise<CoinCallView | undefined>;
}

interface RefundHow {
  isPart: boolean;
  claim: KeyClaim | undefined;
}

/** The operations over their ports. */
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

  /** Work that may still be under way keeps nothing any more: its claim is over. */
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

  /** The stored result is the answer of all; work that nobody does is begun. */
  async function deliver(orderNo: string, { mine }: { mine: boolean }): Promise<Redeemed> {
    const end = performance.now() + ports.patience.work;
    for (;;) {
      const row = await store.read((tx) => tx.coinCalls.find({ orderNo }));
      if (!row) throw new Error('a coin call was not kept');
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

  /** A project that is off begins nothing new; the ordinary call says so. */
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

/** An empty body means the stored one; whatever is named must be what was paid for. */
function requireSame(row: CoinCallRow, request: SkillRequest | undefined): void {
  if (!request) return;
  const { userId = row.userId, resource, input } = request;
  const isEmpty = resource === undefined && input === undefined;
  const isSame = isEmpty || digest({ resource: resource ?? row.resource, input: input ?? null }) === row.bodyDigest;
  if (userId !== row.userId || !isSame) throw new ResourceMismatch();
}
