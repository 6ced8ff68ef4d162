import type { CoinCallRow } from '../../db/entities/skillpay.ts';
import type { Tx } from '../../db/store.ts';
import { NotFound } from '../../errors.ts';
import { claimPatch, type Obstacle, obstacleTo, MAX_ATTEMPTS, nextAttempt } from '../claim.ts';
import { asFailure, type Content, HandlerFailed, runHandler } from '../handlers.ts';
import type { SkillPorts } from '../ports.ts';

/** What stands in the way of the work, or that it was begun. */
export type Begun = { kind: 'begun'; work: Promise<void> } | Obstacle | { kind: 'over' };

/** The work of calls that coins paid, once each; the same rules as for money. */
export interface CoinWork {
  /** Does the work of a call whose claim its row carries; ends when the result is stored, and never throws. */
  perform(row: CoinCallRow): Promise<void>;
  /** Claims the work and begins. `due`: the job that comes at its time need not wait for the pause between tries. */
  begin(orderNo: string, options?: { due?: boolean }): Promise<Begun>;
  /** The work of a call that this process is doing. */
  underWay(orderNo: string): Promise<void> | undefined;
  /** Does what is due for one claimed row. */
  resume(orderNo: string): Promise<void>;
  /** Resolves when no work is under way. */
  idle(): Promise<void>;
}

/** The work over its ports. Its failure for good and the coins that come back are one commit. */
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

/** The call's row, locked until the transaction ends; its account is only locked after it. */
export async function lockCall(tx: Tx, orderNo: string): Promise<CoinCallRow> {
  const row = await tx.coinCalls.lock({ orderNo });
  if (!row) throw new NotFound('order');
  return row;
}

/** Writes the content of a call and tells of it. */
export async function keepContent(
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
