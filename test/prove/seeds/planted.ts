import type { Replica } from './replica.ts';
import type { World } from './world.ts';

/** Puts a fault into a replica. */
export type Spoil = (replica: Replica, world: World) => void;

/** Faults that a service could have, by name: seeds must find them. */
export const PLANTED = {
  /** A channel that did not answer a refund is believed to have refused it for good. */
  'silence is a refusal': (replica) =>
    replica.spoilChannels((channel) => ({
      ...channel,
      refund: async (refund) => {
        const said = await channel.refund(refund);
        return said.kind === 'unknown' ? { kind: 'failed', code: 'timeout', reason: 'no answer' } : said;
      },
    })),
  /** What a channel that did not answer shows is believed to be all that there is: nothing. */
  'silence is a close': (replica) =>
    replica.spoilChannels((channel) => ({
      ...channel,
      close: async (order, again) => {
        const said = await channel.close(order, again);
        return said.kind === 'unknown' ? { kind: 'closed' } : said;
      },
    })),
} as const satisfies Readonly<Record<string, Spoil>>;

export type PlantedName = keyof typeof PLANTED;
