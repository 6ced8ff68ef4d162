import type { ChannelStateRow } from '../db/entities/credentials.ts';
import type { ChannelKind, NotificationHelp, NotificationNotGenuine } from './channel.ts';

/** Why a notification was not taken: a stable word, and what was seen. */
export interface NotificationRefusal {
  why: NotificationNotGenuine['why'] | 'not_configured';
  detail: string;
}

/**
 * The last refused notifications of a channel in one project, all for one reason and each within a day of the one before, with
 * what an operator changes. `isOpen` false: the last one is more than a day old, or a genuine one came after what anybody can post.
 */
export interface ShownRefusal {
  why: string;
  detail: string;
  change: string;
  count: number;
  /** When the first of them came, and the last. */
  since: Date;
  at: Date;
  isOpen: boolean;
}

/** In the order of how near a message came to being taken: several accounts may have been tried, and the nearest one is meant. */
const CHANGES: Readonly<Partial<Record<NotificationRefusal['why'], (help: NotificationHelp) => string>>> = {
  misconfigured: ({ key }) => `The signature is genuine, but the message cannot be read: check that ${key}.`,
  wrong_account: ({ account }) =>
    `Compare the account (${account}) of the channel configuration with the one that the notification names.`,
  chain_incomplete: ({ key }) => `The channel did not confirm the message when it was asked: check that ${key}.`,
  signature_invalid: ({ key }) =>
    `Check that no gateway changes the body on the way (it must pass its bytes on as they came), and that ${key}.`,
  serial_unknown: ({ key }) => `The message names a key that the configuration does not have: check that ${key}.`,
  clock_skew: () =>
    'Synchronise the clock of this machine (timedatectl set-ntp true); a gateway that holds notifications back for minutes does the same.',
  unsigned: ({ signature }) => `Check that every proxy on the way passes on ${signature}.`,
  duplicate_key: () => NOT_THEIRS,
  malformed: () => NOT_THEIRS,
  not_configured: () => 'Complete the channel configuration: no notification can be verified without it.',
};

const NOT_THEIRS =
  'Check that no gateway changes the body on the way. Otherwise it is not a notification of the channel, and nothing is to be done.';

const DAY_MS = 86_400_000;
const NEAREST = Object.keys(CHANGES);

/** Without a reason of its own the certificate of a message could not be fetched. */
const UNFETCHED = 'Check that this machine reaches the certificate address of the channel (outgoing HTTPS).';

/** The longest detail that is kept, in characters. */
const MOST_DETAIL = 200;

/** The refusal that says most about what is wrong, of those of all accounts that a message was tried with. */
export function nearestRefusal(refusals: readonly NotificationRefusal[]): NotificationRefusal {
  const rank = ({ why }: NotificationRefusal) => (NEAREST.includes(why) ? NEAREST.indexOf(why) : NEAREST.length);
  const [first] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (!first) return { why: 'not_configured', detail: 'No configuration of the channel can verify it.' };
  return { why: first.why, detail: first.detail.toWellFormed().replaceAll(/\p{C}/gu, ' ').slice(0, MOST_DETAIL) };
}

/** What an operator changes, so that the next notification is taken. */
export function changeFor({ notificationHelp }: Pick<ChannelKind, 'notificationHelp'>, why: string): string {
  const { changes = {} } = notificationHelp;
  const reason = why as NotificationRefusal['why'];
  const ofChannel = reason === 'not_configured' ? undefined : changes[reason];
  return ofChannel ?? CHANGES[reason]?.(notificationHelp) ?? UNFETCHED;
}

/** A stranger cannot make these: the message was signed by the channel. */
export const SIGNED: ReadonlySet<string> = new Set(['misconfigured', 'wrong_account', 'chain_incomplete']);

/** What is kept of refused notifications, as it is shown. */
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
