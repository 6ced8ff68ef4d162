import type { Replica } from './replica.ts';
import type { World } from './world.ts';

/** Plants a fault in a replica. */
export type Spoil = (replica: Replica, world: World) => void;

/** Possible faults of a service, by name: seeds must find them. */
export const PLANTED = {
  /** The channel sees a repeated refund as a new one. */
  'each try has its own number': (replica) => {
    let tries = 1;
    replica.spoilChannels((channel) => ({
      ...channel,
      refund: (refund) => channel.refund({ ...refund, refundNo: `${refund.refundNo}_${(tries += 1)}` }),
    }));
  },
  /** The lookup of earlier keys is skipped. */
  'keys are forgotten': (replica) => {
    replica.operations.withKey = (_request, run) => run(undefined as never);
  },
} as const satisfies Readonly<Record<string, Spoil>>;

export type PlantedName = keyof typeof PLANTED;
