import type { Effects } from '../../../server/payments/ports.ts';
import type { World } from './world.ts';

const EFFECTS = [
  ['done', 1000],
  ['fails', 30],
] as const;

/** The effects of order transitions: none, or a failure that is due from then on. Records the number of each planned order. */
export function worldEffects(world: World): Effects {
  const perhaps = (what: string, orderNo: string) => {
    const name = world.nameOf(`the effect ${what} of ${world.planned(orderNo)}`);
    if (world.fates.draw(name, EFFECTS) === 'fails') throw new Error(`${name} fails`);
  };
  return {
    async admit(_tx, { orderNo }) {
      const about = world.tasks.getStore()?.about;
      if (about !== undefined) world.orders.set(orderNo, about);
    },
    hold: async () => undefined,
    readmit: async () => true,
    paid: async (_tx, { orderNo }) => perhaps('paid', orderNo),
    ended: async (_tx, { orderNo }) => perhaps('ended', orderNo),
    refundReserved: async () => {},
    refundSucceeded: async (_tx, { orderNo }) => perhaps('refund', orderNo),
    refundFailed: async () => {},
  };
}
