import type { Widths } from './due-kind.ts';

/** Places of the rows that ask a channel: a lane is an account, a group its channel, and no channel takes another's places. */
export function placesOfAccounts({ perAccount, perChannel }: { perAccount: number; perChannel: number }) {
  return {
    laneWidth: perAccount,
    groupWidth: perChannel,
    groupsOf: (lane) => [lane.split(' ', 1)[0]!],
    asksChannel: true,
  } satisfies Widths & { asksChannel: true };
}

/** Places of deliveries: a lane is an application and a receiver, and each of these is a group across the other. */
export function placesOfReceivers(perReceiver: number) {
  return {
    width: 12 * perReceiver,
    laneWidth: perReceiver,
    groupWidth: perReceiver,
    groupsOf: (lane) => lane.split(' '),
    isOneParty: (group) => group.startsWith('//'),
  } satisfies Widths;
}
