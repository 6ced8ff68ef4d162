import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { Core } from '../half.ts';
import { SimulatorRefusal } from '../refusal.ts';
import type { Trade } from '../trade.ts';

/** What a create answered with. */
export interface PayData {
  type: 'code_url' | 'prepay_id' | 'h5_url';
  value: string;
}

const FORM = /^PAYCODE_([\w-]+)\.(\d+)\.([0-9a-f]{16})\.([0-9a-f]{32})$/;

/** A code that pays the trade until then (simulated clock, ms); nothing is kept, the code proves itself. */
export function newPaymentCode(account: Account, trade: Trade, until: number): string {
  const text = `${trade.id}.${until}.${randomBytes(8).toString('hex')}`;
  return `PAYCODE_${text}.${macOf(account, text)}`;
}

/** The trade that a code pays; throws SimulatorRefusal for one that was never given or has expired. */
export function tradeOfCode(core: Core, code: string): Trade {
  const [, id = '', until = '0', salt = '', mac = ''] = FORM.exec(code) ?? [];
  const trade = core.trades.byId(id);
  const account = trade?.payWay === 'wechat' ? core.accounts.get('wechat', trade.account) : undefined;
  const isGiven = account && timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(account, `${id}.${until}.${salt}`)));
  if (!trade || !isGiven) throw new SimulatorRefusal(404, 'payment_code_unknown', 'No such payment code was given.');
  if (Number(until) <= core.clock.now())
    throw new SimulatorRefusal(410, 'payment_code_expired', 'The payment code has expired.');
  return trade;
}

/** The open WeChat trade of an account that this pays; undefined for anything that no create answered. */
export function tradeOfPayData(core: Core, account: Account, { type, value }: PayData): Trade | undefined {
  const trade = core.trades.byId(idIn(core, type, value) ?? '');
  return trade?.payWay === 'wechat' && trade.account === account.name && trade.details['product'] === PRODUCTS[type]
    ? trade
    : undefined;
}

/** The product whose create answers with it; a prepay_id is JSAPI's (apps have one too: not taken, (inferred)). */
const PRODUCTS = { code_url: 'native', prepay_id: 'jsapi', h5_url: 'h5' } as const;

function idIn(core: Core, type: PayData['type'], value: string): string | undefined {
  if (type === 'prepay_id') return /^wx(.+)$/.exec(value)?.[1];
  if (type === 'h5_url') return URL.parse(value)?.searchParams.get('prepay_id')?.slice(2);
  const root = `${core.url}/pay/wechat/`;
  return value.startsWith(root) ? value.slice(root.length) : undefined;
}

function macOf({ secrets }: Account, text: string): string {
  return createHmac('sha256', secrets['apiV3Key'] ?? '')
    .update(text)
    .digest('hex')
    .slice(0, 32);
}
