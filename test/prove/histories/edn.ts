import type { HistoryEvent, Json } from './event.ts';

/** An event as Elle reads it: `{:index 3 :type :ok :process 1 :f :refund :value {…} :time 5}`. */
export function writeEdn({ index, type, process, f, value, time }: HistoryEvent): string {
  const who = typeof process === 'number' ? String(process) : `:${process}`;
  return `{:index ${index} :type :${type} :process ${who} :f :${f} :value ${ednOf(value)} :time ${time}}`;
}

function ednOf(value: Json): string {
  if (value === null) return 'nil';
  if (Array.isArray(value)) return `[${value.map(ednOf).join(' ')}]`;
  // Strings, numbers and booleans of JSON are valid EDN.
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${members.map(([name, one]) => `:${name} ${ednOf(one as Json)}`).join(' ')}}`;
}
