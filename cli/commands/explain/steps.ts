import { minorMoney, plain, valueOf, type Row } from '../../values.ts';

/** One step of an order's timeline. */
export interface Step {
  at: string;
  kind: string;
  summary: string;
  detail?: Row;
}

/** A step as cells: its mark (an arrow for a message, else the kind), what happened, and by whom or with what result. */
export function stepCells({ kind, summary, detail = {} }: Step, time: (at: unknown) => string): string[] {
  const read = (field: string): string => plain(valueOf(detail, field));
  switch (kind) {
    case 'move':
      return read('toState') ? [kind, moveWords(read), moveCause(read, detail)] : [kind, summary, ''];
    case 'message':
      if (read('call') === 'missing') return ['…', summary, ''];
      return read('call')
        ? [read('direction') === 'in' ? '←' : '→', messageWords(read), messageResult(read, time)]
        : [kind, summary, ''];
    case 'exception':
      return ['!', `exception ${read('kind')} ${read('state')}`, resolution(read)];
    case 'event':
      return ['*', summary, read('id')];
    case 'delivery':
      return ['*', summary, deliveryResult(read, time)];
    default:
      return [kind, summary, ''];
  }
}

type Read = (field: string) => string;

function moveWords(read: Read): string {
  const what = read('refundNo') ? `refund ${read('refundNo')} ` : '';
  const from = read('fromState');
  return from === read('toState') ? `${what}stays ${from}` : `${what}${from || '–'} → ${read('toState')}`;
}

/** Why it moved: by which way the word came, from whom, and what the channel said. */
function moveCause(read: Read, detail: Row): string {
  const minor = valueOf(detail, 'outcome.amount.minor');
  const said = [
    minor === undefined ? '' : minorMoney(Number(minor), read('outcome.amount.currency')),
    read('outcome.channelNo') && `channel order ${read('outcome.channelNo')}`,
    read('outcome.payer') && `payer ${read('outcome.payer')}`,
    [read('outcome.code'), read('outcome.reason')].filter(Boolean).join(' '),
  ].filter(Boolean);
  const by = read('actor') ? `${read('cause')} by ${read('actor')}` : read('cause');
  return [by, ...said].filter(Boolean).join(', ');
}

function messageWords(read: Read): string {
  return [read('payWay'), read('call')].filter(Boolean).join(' ');
}

/** The answer's status or why there is none, how long it took, how often it came, the key that verified it, and what the channel's support asks for. */
function messageResult(read: Read, time: (at: unknown) => string): string {
  const took = read('durationMs') ? `${read('durationMs')} ms` : '';
  const key = read('key') || read('verifiedBy');
  const often = Number(read('times')) > 1 ? `${read('times')} times until ${time(read('lastAt'))}` : '';
  const support = read('supportId') && `support id ${read('supportId')}`;
  return [read('status'), read('note'), took, often, key && `verified by ${key}`, support].filter(Boolean).join(', ');
}

/** What the receiver last said, how often it was tried, and when again. */
function deliveryResult(read: Read, time: (at: unknown) => string): string {
  const tries = read('attempts') === '1' ? '1 try' : `${read('attempts') || '0'} tries`;
  const again = read('nextAttemptAt') && `next ${time(read('nextAttemptAt'))}`;
  return [read('lastStatus'), read('lastError'), tries, again].filter(Boolean).join(', ');
}

function resolution(read: Read): string {
  return [read('resolution'), read('reason')].filter(Boolean).join(': ');
}
