import type { Replica } from './replica.ts';
import type { World } from './world.ts';

/** Puts a fault into a replica. */
export type Spoil = (replica: Replica, world: World) => void;

/** Faults that a service could have, by name: seeds must find them. */
export const PLANTED = {
  /** A refund that is sent once more is another refund in the eyes of its channel. */
  'each try has its own number': (replica) => {
    let tries = 1;
    replica.spoilChannels((channel) => ({
      ...channel,
      refund: (refund) => channel.refund({ ...refund, refundNo: `${refund.refundNo}_${(tries += 1)}` }),
    }));
  },
  /** Nobody looks whether a key was there before. */
  'keys are forgotten': (replica) => {
    replica.operations.withKey = (_request, run) => run(undefined as never);
  },
} as const satisfies Readonly<Record<string, Spoil>>;

export type PlantedName = keyof typeof PLANTED;
