import type { Line } from '../../prove/check-history.ts';

type Facts = Line['value'];

/** A short history: each client is a process, and each of its calls one event. */
export interface Story {
  lines: Line[];
  invoke(process: number, f: string, asked: Facts): void;
  end(process: number, type: 'ok' | 'fail' | 'info', told?: Facts): void;
  /** Records a call and its response with nothing in between. */
  done(process: number, f: string, asked: Facts, told?: Facts, type?: 'ok' | 'fail' | 'info'): void;
  drained(): void;
  ledger(has: Facts): void;
}

/** Begins a history. */
export function tell(): Story {
  const lines: Line[] = [];
  const asked = new Map<number, { f: string; value: Facts }>();
  const note = (type: string, process: Line['process'], f: string, value: Facts) =>
    void lines.push({ index: lines.length, type, process, f, value, time: lines.length * 1_000_000 });
  const story: Story = {
    lines,
    invoke(process, f, value) {
      asked.set(process, { f, value });
      note('invoke', process, f, value);
    },
    end(process, type, told = {}) {
      const { f, value } = asked.get(process)!;
      note(type, process, f, { ...value, ...told });
    },
    done(process, f, value, told, type = 'ok') {
      story.invoke(process, f, value);
      story.end(process, type, told);
    },
    drained: () => note('info', 'nemesis', 'drained', {}),
    ledger: (has) =>
      note('info', 'channel', 'ledger', { payments: 1, paid: 0, refunded: 0, returns: 0, paidAt: 0, ...has }),
  };
  return story;
}

/** The service's response for an order of 10.00. */
export function order(told: Facts = {}): Facts {
  const made = { orderNo: 'P1', amount: 1000, payWay: 'wechat', merchantOrderNo: null, shop: 'shop-1' };
  return { ...made, status: 'pending', refunded: 0, refunds: [], ...told };
}

/** The service's response for a merchant refund of 4.00. */
export function refund(told: Facts = {}): Facts {
  return { refundNo: 'R1', amount: 400, status: 'succeeded', origin: 'merchant', merchantRefundNo: null, ...told };
}

/** The requests of a merchant. */
export const ASK = {
  place: { shop: 'shop-1', token: 't1', payWay: 'wechat', amount: 1000 },
  query: { shop: 'shop-1', token: 't1', orderNo: 'P1' },
  refund: { shop: 'shop-1', token: 't1', orderNo: 'P1', amount: 400 },
};

/** The channel's record of a paid order with 4.00 refunded. */
export const REFUNDED = { orderNo: 'P1', paid: 1000, refunded: 400, returns: 1 };
