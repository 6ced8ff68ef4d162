import type { PayWay } from '../payments/channel.ts';
import type { OpenJournal } from './folder.ts';
import type { NotificationRecord } from './notification.ts';
import type { EntryType, LedgerEntry, Refund, Trade, TradeState } from './trade.ts';

/** The totals of one order. Amounts are minor units; `payments` is the number of payments. */
export interface OrderSums {
  payWay: PayWay;
  account: string;
  orderNo: string;
  currency: string;
  amount: number;
  paid: number;
  payments: number;
  refunded: number;
  refunds: number;
  created: number;
  state: TradeState;
}

/** The data that the simulator keeps after it stops. All changes are appended to one file. */
export interface Ledger {
  readonly entries: readonly LedgerEntry[];
  readonly trades: Map<string, Trade>;
  readonly notifications: Map<string, NotificationRecord>;
  /** Every identifier that the simulator has issued, so that none is issued twice. */
  readonly numbers: Set<string>;
  /** How far the simulated clock was ahead of real time (ms) in the last process that used this ledger. */
  clockOffset: number;
  write(
    trade: Trade,
    entry: { type: EntryType; number: string; minor: number; refundNo?: string; origin?: Refund['origin'] },
  ): void;
  writeNotification(notification: NotificationRecord): void;
  writeClock(offset: number): void;
  close(): void;
}

/** Opens the journal (an append-only file of JSON lines) and rebuilds the simulator's data from its lines. */
export function openLedger(openJournal: OpenJournal, now: () => number): Ledger {
  const entries: LedgerEntry[] = [];
  const trades = new Map<string, Trade>();
  const notifications = new Map<string, NotificationRecord>();
  const numbers = new Set<string>();
  let clockOffset = 0;
  const remember = (entry: LedgerEntry) => {
    entries.push(entry);
    numbers.add(entry.number);
  };
  const journal = openJournal((line) => {
    if (line['entry'] !== undefined) remember(line['entry'] as LedgerEntry);
    if (line['trade'] !== undefined) trades.set((line['trade'] as Trade).id, line['trade'] as Trade);
    if (line['notification'] !== undefined)
      notifications.set((line['notification'] as NotificationRecord).id, line['notification'] as NotificationRecord);
    if (typeof line['clock'] === 'number') clockOffset = line['clock'];
  });
  return {
    entries,
    trades,
    notifications,
    numbers,
    clockOffset,
    write(trade, { type, ...about }) {
      const { payWay, account, orderNo, id: tradeId, currency } = trade;
      const at = new Date(now()).toISOString();
      const entry: LedgerEntry = {
        sequence: entries.length + 1,
        type,
        payWay,
        account,
        orderNo,
        tradeId,
        ...about,
        currency,
        at,
      };
      journal.append({ entry, trade });
      remember(entry);
    },
    writeNotification(notification) {
      notifications.set(notification.id, notification);
      journal.append({ notification });
    },
    writeClock: (clock) => journal.append({ clock }),
    close: () => journal.close(),
  };
}

/** Returns the totals of each order that occurs in `entries`. Channel, account and order number identify an order. */
export function sumOrders(entries: readonly LedgerEntry[], trades: ReadonlyMap<string, Trade>): OrderSums[] {
  const orders = new Map<string, OrderSums>();
  for (const entry of entries) {
    const key = `${entry.payWay} ${entry.account} ${entry.orderNo}`;
    const sums = orders.get(key) ?? emptySums(entry);
    orders.set(key, sums);
    addTo(sums, entry);
    sums.state = trades.get(entry.tradeId)?.state ?? sums.state;
  }
  return [...orders.values()];
}

function emptySums({ payWay, account, orderNo, currency }: LedgerEntry): OrderSums {
  return {
    payWay,
    account,
    orderNo,
    currency,
    amount: 0,
    paid: 0,
    payments: 0,
    refunded: 0,
    refunds: 0,
    created: 0,
    state: 'open',
  };
}

function addTo(sums: OrderSums, { type, minor }: LedgerEntry): void {
  if (type === 'created') {
    sums.created += 1;
    sums.amount = minor;
  } else if (type === 'paid' || type === 'captured') {
    sums.payments += 1;
    sums.paid += minor;
  } else if (type === 'refunded') {
    sums.refunds += 1;
    sums.refunded += minor;
  } else if (type === 'refund-reversed') {
    sums.refunds -= 1;
    sums.refunded -= minor;
  }
}
