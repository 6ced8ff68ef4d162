import { InvalidArgumentError } from 'commander';
import type { SubList } from '../../sub-list.ts';
import type { Row } from '../../values.ts';

const NAMES = ['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour'] as const;

/** Reads `CNY.perDay=1000,CNY.ordersPerHour=none` into a change of limits; what came before it is added to. */
export function readLimits(text: string, before?: unknown): Record<string, Row | null> {
  const change = { ...(before as Record<string, Row | null> | undefined) };
  for (const item of text.split(',')) {
    const [, currency = '', name, value = ''] = /^([A-Z]{3})(?:\.(\w+))?=(.+)$/.exec(item.trim()) ?? [];
    const isWhole = currency !== '' && name === undefined && value === 'none';
    const isKnown = NAMES.some((known) => known === name) && (value === 'none' || /^\d{1,9}(\.\d+)?$/.test(value));
    if (isWhole) change[currency] = null;
    else if (isKnown) change[currency] = { ...change[currency], [name!]: valueOf(name!, value) };
    else
      throw new InvalidArgumentError(
        `Expected limits like CNY.perDay=1000, CNY.perDay=none or CNY=none; the limits are ${NAMES.join(', ')}.`,
      );
  }
  return change;
}

/** Amounts stay texts, so that no digit is lost on the way. */
function valueOf(name: string, value: string): unknown {
  if (value === 'none') return null;
  return name === 'ordersPerHour' ? Number(value) : value;
}

/** What an application may still order and refund. */
export const LIMITS: SubList = {
  verb: 'limits',
  words: 'Show the limits of an application and what is left of them.',
  view: {
    noun: 'limit',
    id: 'limit',
    columns: [
      { field: 'currency', kind: 'id' },
      { field: 'limit', kind: 'id' },
      { field: 'allowed' },
      { field: 'used' },
      { field: 'left' },
      { field: 'resetsAt', title: 'RESETS', kind: 'time' },
    ],
  },
  lines: ['payctl app limits app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app limits app_7Kd2mQxW9bTzR4vLp1Ns -o json'],
};
