import { z } from 'zod';
import type { Account } from '../accounts.ts';
import type { Core } from '../half.ts';
import {
  type Asked,
  type CallRoute,
  type Planned,
  badParameter,
  empty,
  readBody,
  refuse,
  settled,
  tell,
} from './requests.ts';

/** Where complaints are told; only https at WeChat Pay, here the addresses of this machine, too. */
const Body = z.object({
  url: z
    .string()
    .max(255)
    .regex(/^https:\/\/|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/),
});

const PATH = /^\/v3\/merchant-service\/complaint-notifications$/;

/** The address of a merchant for complaints: one. Source: pay.weixin.qq.com, chapter10_2_2 to 10_2_5 of API v3. */
export const COMPLAINT_NOTICE_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: PATH, call: 'webhooks', plan: (asked) => ({ act: () => show(asked) ?? absent() }) },
  { method: 'POST', path: PATH, call: 'webhooks', plan: (asked) => planUrl(asked, (url) => create(asked, url)) },
  { method: 'PUT', path: PATH, call: 'webhooks', plan: (asked) => planUrl(asked, (url) => change(asked, url)) },
  { method: 'DELETE', path: PATH, call: 'webhooks', plan: (asked) => ({ act: () => remove(asked) }) },
];

/** Undefined = the merchant has registered none. */
export function complaintUrlOf({ secrets }: Account): string | undefined {
  return secrets['complaintUrl'] || undefined;
}

type Said = ReturnType<typeof tell>;

function planUrl({ rawBody }: Asked, act: (url: string) => Said): Planned {
  const read = readBody(Body, rawBody);
  return read.ok ? { act: () => act(read.body.url) } : settled(badParameter(read.field, read.issue));
}

function show({ account, merchant: { mchid } }: Asked): Said | undefined {
  const url = complaintUrlOf(account);
  return url === undefined ? undefined : tell({ mchid, url });
}

function create(asked: Asked, url: string): Said {
  if (complaintUrlOf(asked.account) !== undefined) return refuse(400, 'INVALID_REQUEST', '投诉通知回调地址已存在');
  return write(asked, url);
}

function change(asked: Asked, url: string): Said {
  return complaintUrlOf(asked.account) === undefined ? absent() : write(asked, url);
}

function remove({ core, account }: Asked): Said {
  keep(core, account, '');
  return empty(204);
}

function write(asked: Asked, url: string): Said {
  const { core, account } = asked;
  keep(core, account, url);
  return show(asked) ?? absent();
}

function keep(core: Core, account: Account, complaintUrl: string): void {
  account.secrets = { ...account.secrets, complaintUrl };
  core.accounts.save();
}

function absent(): Said {
  return refuse(400, 'RESOURCE_NOT_EXISTS', '查询的通知回调不存在');
}
