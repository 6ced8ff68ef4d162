import { AppError } from '../errors.ts';
import { isOpen } from '../payments/core/moves.ts';
import type { PayWay } from '../payments/channel.ts';
import type { PayerChoice } from '../payments/orders/payer.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { findSkill } from './resource.ts';
import type { SuccessorOf } from './successor.ts';

/**
 * How the payer of an offer takes another channel than the order's: the order is closed, and one of the other channel
 * takes its place. Money that comes for the closed one all the same is late money, as ever.
 */
export function chooseWay(ports: SkillPorts, successorOf: SuccessorOf): PayerChoice {
  const { store, payments } = ports;
  return {
    async others(orderNo) {
      const pair = await find(orderNo);
      return pair && isOpen(pair.order.state) ? otherWays(pair) : [];
    },
    async successor(orderNo) {
      const pair = await find(orderNo);
      return pair && !isOpen(pair.order.state) && pair.order.paid === 0n
        ? (pair.skill.successor ?? undefined)
        : undefined;
    },
    async choose(orderNo, payWay) {
      const pair = await find(orderNo);
      if (!pair || !otherWays(pair).includes(payWay)) return orderNo;
      if (pair.skill.successor !== null) return pair.skill.successor;
      if (isOpen(pair.order.state) && !(await isSamePrice(pair))) return orderNo;
      const { clientId, project } = pair.order;
      const order = await close(pair);
      if (order?.closeReason !== 'payer') return orderNo;
      const next = await successorOf({ clientId, project }, { order, skill: pair.skill }, { payWay });
      return next?.order.orderNo ?? orderNo;
    },
  };

  async function find(orderNo: string): Promise<SkillPair | undefined> {
    return store.read(async (tx) => {
      const skill = await tx.skillOrders.find({ orderNo });
      const order = skill && (await tx.orders.find({ orderNo }));
      return order && skill && { order, skill };
    });
  }

  /** Undefined when it was paid first. */
  async function close({ order }: SkillPair) {
    if (!isOpen(order.state)) return order;
    try {
      return await payments.close({ owner: { clientId: order.clientId }, actor: 'payer' }, order.orderNo);
    } catch (error) {
      if (error instanceof AppError && error.code === 'order_already_paid') return undefined;
      throw error;
    }
  }

  /** Whoever chooses has seen the price of the offer. */
  async function isSamePrice({ order, skill }: SkillPair): Promise<boolean> {
    const found = await findSkill(ports, order.project, skill.resource).catch((error: unknown) => {
      if (error instanceof AppError) return undefined;
      throw error;
    });
    return found?.version === skill.productVersion;
  }
}

function otherWays(pair: SkillPair): PayWay[] {
  return pair.skill.entries.flatMap(({ payWay }) => (payWay === pair.order.payWay ? [] : [payWay]));
}
