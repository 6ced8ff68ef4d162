import type { ChannelStateRow } from '../db/entities/credentials.ts';
import type { PayWay } from '../domain.ts';
import type { NoticeNotGenuine } from './channel.ts';
import { later } from './core/plan.ts';

/** Why a notification was not taken: a stable word, and what was seen. */
export interface NoticeRefusal {
  why: NoticeNotGenuine['why'] | 'not_configured';
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

/** The names of what carries a signature, as proxies have to pass them on. */
const SIGNATURE_PARTS: Readonly<Record<PayWay, string>> = {
  alipay: 'the fields sign and sign_type of the form',
  wechat: 'the headers Wechatpay-Timestamp, Wechatpay-Nonce, Wechatpay-Serial and Wechatpay-Signature',
  paypal: 'the headers Paypal-Transmission-Id, -Time and -Sig, Paypal-Cert-Url and Paypal-Auth-Algo',
};

const KEYS: Readonly<Record<PayWay, string>> = {
  alipay: 'the Alipay public key (or certificate) is that of this app in the open platform, not the own public key',
  wechat: 'the WeChat Pay public key or platform certificate is the one that the merchant platform shows',
  paypal: 'WebhookId is the id of the webhook that leads to this address',
};

/** In the order of how near a message came to being taken: several accounts may have been tried, and the nearest one is meant. */
const CHANGES: Readonly<Partial<Record<NoticeRefusal['why'], (payWay: PayWay) => string>>> = {
  misconfigured: () =>
    'Set the APIv3 key of the merchant platform in the channel configuration: the signature is genuine, and the configured key does not decrypt.',
  wrong_account: (payWay) =>
    `Compare the account (${{ alipay: 'app_id, seller_id', wechat: 'mchid, appid', paypal: 'client id' }[payWay]}) of the channel configuration with the one that the notification names.`,
  chain_incomplete: () =>
    'PayPal did not confirm the message when it was asked: compare the client id and WebhookId of the channel configuration with those of the app.',
  signature_invalid: (payWay) =>
    `Check that no gateway changes the body on the way (it must pass its bytes on as they came), and that ${KEYS[payWay]}.`,
  serial_unknown: (payWay) =>
    payWay === 'wechat'
      ? 'Download the platform certificate (payctl cert download wechat), or upload the WeChat Pay public key whose id the notification names.'
      : 'The certificate address is not one of PayPal in the mode of the configuration: compare its mode with that of the app.',
  clock_skew: () =>
    'Synchronise the clock of this machine (timedatectl set-ntp true); a gateway that holds notifications back for minutes does the same.',
  unsigned: (payWay) => `Check that every proxy on the way passes on ${SIGNATURE_PARTS[payWay]}.`,
  duplicate_key: () => NOT_THEIRS,
  malformed: () => NOT_THEIRS,
  not_configured: () => 'Complete the channel configuration: no notification can be verified without it.',
};

const NOT_THEIRS =
  'Check that no gateway changes the body on the way. Otherwise it is not a notification of the channel, and nothing is to be done.';

const DAY_SECONDS = 86_400;
const NEAREST = Object.keys(CHANGES);

/** Without a reason of its own the certificate of a message could not be fetched. */
const UNFETCHED = 'Check that this machine reaches the certificate address of the channel (outgoing HTTPS).';

/** The longest detail that is kept, in characters. */
const MOST_DETAIL = 200;

/** The refusal that says most about what is wrong, of those of all accounts that a message was tried with. */
export function nearestRefusal(refusals: readonly NoticeRefusal[]): NoticeRefusal {
  const rank = ({ why }: NoticeRefusal) => (NEAREST.includes(why) ? NEAREST.indexOf(why) : NEAREST.length);
  const [first] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (!first) return { why: 'not_configured', detail: 'No configuration of the channel can verify it.' };
  return { why: first.why, detail: first.detail.toWellFormed().replaceAll(/\p{C}/gu, ' ').slice(0, MOST_DETAIL) };
}

/** What an operator changes, so that the next notification is taken. */
export function changeFor(payWay: PayWay, why: string): string {
  return CHANGES[why as NoticeRefusal['why']]?.(payWay) ?? UNFETCHED;
}

/** A stranger cannot make these: the message was signed by the channel. */
export const SIGNED: ReadonlySet<string> = new Set(['misconfigured', 'wrong_account', 'chain_incomplete']);

/** What is kept of refused notifications, as it is shown. */
export function refusedOf(
  { payWay, refusedNotices, lastNoticeAt }: Pick<ChannelStateRow, 'payWay' | 'refusedNotices' | 'lastNoticeAt'>,
  now: Date,
): ShownRefusal | null {
  if (!refusedNotices) return null;
  const { why, detail, count } = refusedNotices;
  const [since, at] = [new Date(refusedNotices.since), new Date(refusedNotices.at)];
  const isLate = later(at, DAY_SECONDS) < now;
  const isOpen = !isLate && (SIGNED.has(why) || lastNoticeAt === null || lastNoticeAt < at);
  return { why, detail, change: changeFor(payWay, why), count, since, at, isOpen };
}
