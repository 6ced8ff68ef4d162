import type { Row, View } from '../../values.ts';

/** How a trade of the simulator is shown. */
export const TRADE: View = {
  noun: 'trade',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'account' },
    { field: 'scene' },
    { field: 'subject' },
    { field: 'state', kind: 'status' },
    { field: 'amount', kind: 'minor' },
    { field: 'currency', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'expiresAt', kind: 'time' },
    { field: 'closedAt', kind: 'time' },
    { field: 'payments' },
    { field: 'refunds' },
  ],
};

/** A trade as the simulator tells it (milliseconds), with its instants written as everywhere else (RFC 3339). */
export function readTrade(trade: Row): Row {
  return Object.fromEntries(Object.entries(trade).map(([field, value]) => [field, readMember(field, value)]));
}

function readMember(field: string, value: unknown): unknown {
  if (typeof value === 'number' && /(^a|A)t$/.test(field)) return new Date(value).toISOString();
  if ((field === 'payments' || field === 'refunds') && Array.isArray(value))
    return value.map((one: Row) => readTrade(one));
  return value;
}

/** What a person wants to know of a trade; payments and refunds by their numbers at the channel. */
export function shownTrade(trade: Row): Row {
  const numbers = (of: unknown) => (Array.isArray(of) ? of.map(({ number }: Row) => number) : []);
  const { orderNo, payWay, account, scene, subject, state, minor, currency, createdAt, expiresAt, closedAt } = trade;
  const [payments, refunds] = [numbers(trade['payments']), numbers(trade['refunds'])];
  const names = { orderNo, payWay, account, scene, subject, state, amount: minor, currency };
  return { ...names, createdAt, expiresAt, closedAt, payments, refunds };
}
