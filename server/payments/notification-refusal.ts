import type { Words } from '../domain.ts';
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
  change: Words;
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
const CHANGES: Readonly<Partial<Record<NotificationRefusal['why'], (help: NotificationHelp) => Words>>> = {
  misconfigured: ({ key }) => ({
    en: `The signature is genuine, but the message cannot be read: check that ${key.en}.`,
    zh: `签名真实，但无法读取消息内容：请确认${key.zh}。`,
  }),
  wrong_account: ({ account }) => ({
    en: `Compare the account (${account.en}) of the channel configuration with the one that the notification names.`,
    zh: `请核对渠道配置中的账号（${account.zh}）与通知中的账号是否一致。`,
  }),
  chain_incomplete: ({ key }) => ({
    en: `The channel did not confirm the message when it was queried: check that ${key.en}.`,
    zh: `向渠道核实时，渠道未确认该消息：请确认${key.zh}。`,
  }),
  signature_invalid: ({ key }) => ({
    en: `Check that no gateway changes the body on the way (it must forward the bytes unchanged), and that ${key.en}.`,
    zh: `请确认途中没有网关改写请求体（必须逐字节原样转发），并确认${key.zh}。`,
  }),
  serial_unknown: ({ key }) => ({
    en: `The message names a key that the configuration does not have: check that ${key.en}.`,
    zh: `消息所标识的密钥不在渠道配置中：请确认${key.zh}。`,
  }),
  clock_skew: () => ({
    en: 'Synchronise the clock of this machine (timedatectl set-ntp true); a gateway that delays notifications by minutes has the same effect.',
    zh: '请同步本机时钟（timedatectl set-ntp true）；网关把通知延迟数分钟，也会造成同样的结果。',
  }),
  unsigned: ({ signature }) => ({
    en: `Check that every proxy on the way passes on ${signature.en}.`,
    zh: `请确认途中的每个代理都会转发${signature.zh}。`,
  }),
  duplicate_key: () => NOT_THEIRS,
  malformed: () => NOT_THEIRS,
  not_configured: () => ({
    en: 'Complete the channel configuration: no notification can be verified without it.',
    zh: '请补全渠道配置：缺少配置时无法验证任何通知。',
  }),
};

const NOT_THEIRS: Words = {
  en: 'Check that no gateway changes the body on the way. If none does, the message is not from the channel and can be ignored.',
  zh: '请确认途中没有网关改写请求体。如果没有，则该消息并非来自渠道，可以忽略。',
};

const DAY_MS = 86_400_000;
const NEAREST = Object.keys(CHANGES);

/** The advice for reasons that are not listed: they mean that a certificate could not be downloaded. */
const UNFETCHED: Words = {
  en: 'Check that this machine reaches the certificate address of the channel (outgoing HTTPS).',
  zh: '请确认本机可以访问渠道的证书地址（出站 HTTPS）。',
};

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
export function changeFor({ notificationHelp }: Pick<ChannelKind, 'notificationHelp'>, why: string): Words {
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
