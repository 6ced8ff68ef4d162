import { z } from 'zod';
import type { Mode, NoticesRegistered, ProbeCheck } from '../../payments/channel.ts';
import { notReached, passed, wanting } from '../checks.ts';
import type { Ask } from './client.ts';
import type { Reply } from './reply.ts';

const TARGET = '/v3/merchant-service/complaint-notifications';
const Registered = z.object({ url: z.string().min(1) });

/** Where the notices of complaints are to come. */
export interface ComplaintNotices {
  ask: Ask;
  mode: Mode;
  notifyUrl?: string | undefined;
}

/**
 * WeChat Pay tells complaints of a merchant at one address, which is found, or made where there is none. One of another system stays
 * as it is, because that would hear of nothing any more; one of another path of ours is changed.
 */
export async function registerComplaintNotices({ ask, mode, notifyUrl }: ComplaintNotices): Promise<NoticesRegistered> {
  if (notifyUrl === undefined) return failed('no_notify_url', 'The service does not know its own public URL.');
  if (mode !== 'simulator' && !notifyUrl.startsWith('https://'))
    return failed('not_https', `WeChat Pay calls https addresses only; the notify URL is ${notifyUrl}.`);
  const known = await readUrl(ask);
  if ('ok' in known) return known;
  if (known.url === notifyUrl) return { ok: true, fields: {} };
  if (known.url !== null && !isSameHost(known.url, notifyUrl)) return failed('complaint_url', elsewhere(known.url));
  const method = known.url === null ? 'POST' : 'PUT';
  const body = JSON.stringify({ url: notifyUrl });
  const reply = await ask({ method, target: TARGET, body, about: { call: 'webhooks' } });
  return reply.kind === 'said' ? { ok: true, fields: {} } : notKnown(reply);
}

const ADDRESS = 'Address for complaints';

/** How a test of the account finds the address; the simulator tells the address of each order. */
export async function complaintChecks({ ask, mode, notifyUrl }: ComplaintNotices): Promise<ProbeCheck[]> {
  if (notifyUrl === undefined) return [];
  const known = await readUrl(ask);
  if ('ok' in known) return [lacking(known.code, `The address for complaints cannot be read: ${known.message}`)];
  if (known.url === notifyUrl || (known.url === null && mode === 'simulator'))
    return [passed('notifications', ADDRESS)];
  const none =
    'No address is registered for complaints, so they are found within the hour. Register it: payctl channel set wechat';
  return [lacking('complaint_url', known.url === null ? none : elsewhere(known.url))];
}

/** The same, when the credentials do not work. */
export function untestedComplaints({ notifyUrl }: Pick<ComplaintNotices, 'notifyUrl'>): ProbeCheck[] {
  return notifyUrl === undefined ? [] : [notReached('notifications', ADDRESS)];
}

async function readUrl(ask: Ask): Promise<{ url: string | null } | Extract<NoticesRegistered, { ok: false }>> {
  const reply = await ask({ method: 'GET', target: TARGET, about: { call: 'webhooks' } });
  // With 400, says the document of API v3; as everywhere the code counts.
  if (reply.kind === 'refused' && reply.code === 'RESOURCE_NOT_EXISTS') return { url: null };
  if (reply.kind !== 'said') return notKnown(reply);
  const url = Registered.safeParse(reply.members).data?.url;
  return url === undefined ? failed('unparsable', 'The response names no address.') : { url };
}

function notKnown(reply: Exclude<Reply, { kind: 'said' }>): Extract<NoticesRegistered, { ok: false }> {
  if (reply.kind === 'unknown') return failed(reply.cause, reply.detail ?? 'WeChat Pay did not answer.');
  return failed(reply.code, `WeChat Pay refused: ${reply.message}`);
}

function elsewhere(url: string): string {
  return `Complaints are told to ${url}; those about this service are found within the hour. WeChat Pay has one address for a merchant: remove it there to register this service.`;
}

function isSameHost(one: string, other: string): boolean {
  return URL.parse(one)?.host === URL.parse(other)?.host;
}

function lacking(code: string | null, message: string): ProbeCheck {
  return wanting('notifications', ADDRESS, 'lacking', { code, message });
}

function failed(code: string, message: string): Extract<NoticesRegistered, { ok: false }> {
  return { ok: false, field: null, code, message };
}
