import type { ChannelStateRow } from '../db/entities/credentials.ts';
import type { ChannelKind, NotificationHelp, NotificationNotGenuine } from './channel.ts';

export interface NotificationRefusal {
  why: NotificationNotGenuine['why'] | 'not_configured';
  detail: string;
}

/**
 * The latest refused notifications of a channel in one project, with the advice for an operator. They all have the same
 * reason, and at most a day lies between two of them. `isOpen`: whether the problem may still exist. It becomes false a
 * day after the last refused notification. If the refused notifications had no valid signature, the next verified
 * notification also makes it false.
 */
export interface ShownRefusal {
  why: string;
  detail: string;
  change: string;
  count: number;
  /** When the first (`since`) and the last (`at`) of these notifications arrived. */
  since: Date;
  at: Date;
  isOpen: boolean;
}

/**
 * The advice for an operator, for each reason of a refusal. If several accounts refused a notification for different
 * reasons, the reason that comes first in this list is reported. A reason comes earlier if the notification had passed
 * more checks.
 */
const CHANGES: Readonly<Partial<Record<NotificationRefusal['why'], (help: NotificationHelp) => string>>> = {
  misconfigured: ({ key }) => `The signature is genuine, but the message cannot be read: check that ${key}.`,
  wrong_account: ({ account }) =>
    `Compare the account (${account}) of the channel configuration with the one that the notification names.`,
  chain_incomplete: ({ key }) => `The channel did not confirm the message when it was queried: check that ${key}.`,
  signature_invalid: ({ key }) =>
    `Check that no gateway changes the body on the way (it must forward the bytes unchanged), and that ${key}.`,
  serial_unknown: ({ key }) => `The message names a key that the configuration does not have: check that ${key}.`,
  clock_skew: () =>
    'Synchronise the clock of this machine (timedatectl set-ntp true); a gateway that delays notifications by minutes has the same effect.',
  unsigned: ({ signature }) => `Check that every proxy on the way passes on ${signature}.`,
  duplicate_key: () => NOT_THEIRS,
  malformed: () => NOT_THEIRS,
  not_configured: () => 'Complete the channel configuration: no notification can be verified without it.',
};

const NOT_THEIRS =
  'Check that no gateway changes the body on the way. If none does, the message is not from the channel and can be ignored.';

const DAY_MS = 86_400_000;
const NEAREST = Object.keys(CHANGES);

/** The advice for reasons that are not listed: they mean that a certificate could not be downloaded. */
const UNFETCHED = 'Check that this machine reaches the certificate address of the channel (outgoing HTTPS).';

/** Maximum length, in characters, of the stored text that describes a refusal. */
const MOST_DETAIL = 200;

/** Returns the refusal for which the notification passed the most checks. */
export function nearestRefusal(refusals: readonly NotificationRefusal[]): NotificationRefusal {
  const rank = ({ why }: NotificationRefusal) => (NEAREST.includes(why) ? NEAREST.indexOf(why) : NEAREST.length);
  const [first] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (!first) return { why: 'not_configured', detail: 'No configuration of the channel can verify the notification.' };
  return { why: first.why, detail: first.detail.toWellFormed().replaceAll(/\p{C}/gu, ' ').slice(0, MOST_DETAIL) };
}

/** Returns what an operator must correct, so that the next notification is accepted. */
export function changeFor({ notificationHelp }: Pick<ChannelKind, 'notificationHelp'>, why: string): string {
  const { changes = {} } = notificationHelp;
  const reason = why as NotificationRefusal['why'];
  const ofChannel = reason === 'not_configured' ? undefined : changes[reason];
  return ofChannel ?? CHANGES[reason]?.(notificationHelp) ?? UNFETCHED;
}

/** Reasons that only genuine messages of the channel cause, because their signature was valid. */
export const SIGNED: ReadonlySet<string> = new Set(['misconfigured', 'wrong_account', 'chain_incomplete']);

/** The stored refusals of a channel as they are shown; null = none. */
export function refusedOf(
  kind: Pick<ChannelKind, 'notificationHelp'>,
  { refusedNotices, lastNoticeAt }: Pick<ChannelStateRow, 'refusedNotices' | 'lastNoticeAt'>,
  now: Date,
): ShownRefusal | null {
  if (!refusedNotices) return null;
  const { why, detail, count } = refusedNotices;
  const [since, at] = [new Date(refusedNotices.since), new Date(refusedNotices.at)];
  const isLate = now.getTime() - at.getTime() > DAY_MS;
  const isOpen = !isLate && (SIGNED.has(why) || lastNoticeAt === null || lastNoticeAt < at);
  return { why, detail, change: changeFor(kind, why), count, since, at, isOpen };
}
