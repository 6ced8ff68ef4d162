import type { Account } from '../accounts.ts';
import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';

/** Finds trades by what PayPal's own calls name. */
export interface Books {
  /** The trade of this order, capture or refund id, if it is this account's. */
  byNumber(account: Account, number: string): Trade | undefined;
  /** The trade that this PayPal-Request-Id created. */
  byRequest(account: Account, requestId: string): Trade | undefined;
  /** Whether another order with this invoice id has been paid. */
  invoiceUsed(account: Account, invoiceId: string, except?: Trade): boolean;
}

/** An index over the append-only ledger, brought up to date by each question. */
export function openBooks({ ledger, trades }: Core): Books {
  const numbers = new Map<string, string>();
  const requests = new Map<string, string>();
  const invoices = new Map<string, Set<string>>();
  let read = 0;

  const catchUp = () => {
    for (; read < ledger.entries.length; read += 1) {
      const entry = ledger.entries[read];
      if (entry?.payWay !== 'paypal') continue;
      numbers.set(entry.number, entry.tradeId);
      if (entry.type === 'created') enter(entry.account, entry.tradeId);
    }
  };
  const enter = (account: string, tradeId: string) => {
    const { requestId, invoiceId } = ledger.trades.get(tradeId)?.details ?? {};
    if (typeof requestId === 'string') requests.set(`${account} ${requestId}`, tradeId);
    if (typeof invoiceId !== 'string') return;
    const key = `${account} ${invoiceId}`;
    invoices.set(key, (invoices.get(key) ?? new Set()).add(tradeId));
  };
  const find = (account: Account, id: string | undefined): Trade | undefined => {
    const trade = id === undefined ? undefined : trades.byId(id);
    return trade?.payWay === 'paypal' && trade.account === account.name ? trade : undefined;
  };

  return {
    byNumber(account, number) {
      catchUp();
      return find(account, numbers.get(number));
    },
    byRequest(account, requestId) {
      catchUp();
      return find(account, requests.get(`${account.name} ${requestId}`));
    },
    invoiceUsed(account, invoiceId, except) {
      catchUp();
      const ids = [...(invoices.get(`${account.name} ${invoiceId}`) ?? [])];
      return ids.some((id) => id !== except?.id && ledger.trades.get(id)?.state === 'paid');
    },
  };
}
