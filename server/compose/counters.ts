import { Counter } from 'prom-client';
import { PAY_WAYS } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import type { Base } from './base.ts';

/** Assembles the figures about money beside those of HTTP. */
export function composeCounters({ metrics: { registry } }: Base): Ports['count'] {
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const counters: Record<string, Counter> = {
    notice: counter('channel_notices_total', 'Channel notifications by channel and result.', 'pay_way', 'result'),
    notice_refused: counter(
      'channel_notices_refused_total',
      'Channel notifications that failed verification, by reason.',
      'pay_way',
      'why',
    ),
    order_exception: counter('order_exceptions_total', 'Exceptions by kind.', 'kind'),
  };
  // An increase is only seen from a number that was there before.
  for (const payWay of PAY_WAYS)
    for (const result of ['settled', 'duplicate', 'hint']) counters['notice']?.inc({ pay_way: payWay, result }, 0);
  return (name, { payWay, ...labels } = {}) =>
    counters[name]?.inc(payWay === undefined ? labels : { pay_way: payWay, ...labels });
}
