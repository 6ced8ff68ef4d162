import { type Phrase, type Text, coded, english, joined, say, served } from '../../language.ts';
import { type Row, minorMoney, money, plain, relativeText, valueOf } from '../../values.ts';

interface Step {
  at: string;
  kind: string;
  summary: string;
  detail?: Row;
}

type Time = (at: unknown) => Text;

/** The columns of a step: a symbol or a word such as `move`, a summary, and details such as the cause or the result. */
function stepCells({ kind, summary, detail = {} }: Step, time: Time): Text[] {
  const read = (field: string): string => plain(valueOf(detail, field));
  switch (kind) {
    case 'move':
      return read('toState') ? [kind, moveWords(read), moveCause(read, detail)] : [kind, summary, ''];
    case 'message':
      if (read('call') === 'missing') return ['…', served(summary, gap(read, time)), ''];
      return read('call')
        ? [read('direction') === 'in' ? '←' : '→', messageWords(read), messageResult(read, time)]
        : [kind, summary, ''];
    case 'exception':
      return [
        '!',
        say`exception ${coded('kind', read('kind'))} ${coded('exceptionState', read('state'))}`,
        resolution(read),
      ];
    case 'event':
      return ['*', read('type') ? say`event ${read('type')}` : summary, read('id')];
    case 'delivery':
      return ['*', deliveryWords(summary, read), deliveryResult(read, time)];
    default:
      return [kind, summary, ''];
  }
}

type Read = (field: string) => string;

function moveWords(read: Read): Text {
  const refundNo = read('refundNo');
  const state = (name: string) => coded(refundNo ? 'refundState' : 'orderState', read(name) || '–');
  const [from, to] = [state('fromState'), state('toState')];
  if (read('fromState') === read('toState'))
    return refundNo ? say`refund ${refundNo} stays ${from}` : say`stays ${from}`;
  return refundNo ? say`refund ${refundNo} ${from} → ${to}` : joined([from, to], ' → ');
}

function moveCause(read: Read, detail: Row): Text {
  const minor = valueOf(detail, 'outcome.amount.minor');
  const cause = coded('cause', read('cause'));
  return joined([
    read('actor') ? say`${cause} by ${read('actor')}` : cause,
    minor === undefined ? '' : minorMoney(Number(minor), read('outcome.amount.currency')),
    read('outcome.channelNo') && say`channel order ${read('outcome.channelNo')}`,
    read('outcome.payer') && say`payer ${read('outcome.payer')}`,
    [read('outcome.code'), read('outcome.reason')].filter(Boolean).join(' '),
  ]);
}

/** Messages that were not stored. */
function gap(read: Read, time: Time): Phrase {
  return read('lastAt')
    ? say`${read('times')} messages are missing here until ${time(read('lastAt'))}`
    : say`${read('times')} messages are missing here`;
}

function messageWords(read: Read): Text {
  return joined([coded('payWay', read('payWay')), read('call')], ' ');
}

function messageResult(read: Read, time: Time): Text {
  const key = read('key') || read('verifiedBy');
  return joined([
    read('status'),
    read('note'),
    read('durationMs') && say`${read('durationMs')} ms`,
    Number(read('times')) > 1 ? say`${read('times')} times until ${time(read('lastAt'))}` : '',
    key && say`verified by ${key}`,
    read('supportId') && say`support id ${read('supportId')}`,
  ]);
}

/** The address of a delivery is only in its summary. */
function deliveryWords(summary: string, read: Read): Text {
  const address = /^delivery to (.+) \w+$/.exec(summary)?.[1];
  const state = read('state');
  return address && state ? served(summary, say`delivery to ${address} ${coded('deliveryState', state)}`) : summary;
}

function deliveryResult(read: Read, time: Time): Text {
  return joined([
    read('lastStatus'),
    read('lastError'),
    read('attempts') === '1' ? say`1 try` : say`${read('attempts') || '0'} tries`,
    read('nextAttemptAt') && say`next ${time(read('nextAttemptAt'))}`,
  ]);
}

function resolution(read: Read): Text {
  return joined([coded('resolution', read('resolution')), read('reason')], ': ');
}

/** The next action of the service for the order. `at` is null while the action is in progress. */
interface Next {
  action: string;
  at: string | null;
}

/** Merchants do not get the fields that are optional here. */
interface Explanation {
  orderNo: string;
  status: string;
  situation: string;
  reason: string;
  next: Next | null;
  fix: string | null;
  askedBy?: string;
  expiresAt?: string;
  /** Amounts in minor units, e.g. cents. */
  equation: { currency: string; paid: number; refunded: number; refunding: number; kept: number; refundable: number };
  refunds: {
    refundNo: string;
    amountMinor: number;
    status: string;
    reason: string;
    next: Next | null;
    fix: string | null;
  }[];
  exceptions?: { id: string; kind: string; fix: string }[];
  bills?: {
    billNo: string;
    day: string;
    kind: string;
    amountMinor: number;
    feeMinor: number;
    currency: string;
  }[];
  differences?: { kind: string; state: string; billNo: string; day: string }[];
  refusedNotices?: { why: string; detail: string; change: string; count: number; at: string } | null;
}

export interface Found {
  explanation: Explanation;
  timeline: readonly Step[];
  order: Row;
}

/** On a terminal the cells are joined; in a pipe they are separated by tabs. */
export interface Line {
  label: string;
  cells: readonly Text[];
  /** A status word that colours the line's first cell. */
  look?: string;
  /** Whether the line is a command that the operator copies. A command is never wrapped. */
  command?: boolean;
}

export interface Section {
  title: 'order' | 'refunds' | 'exceptions' | 'bills' | 'story';
  lines: readonly Line[];
}

/** Splits the explanation into sections, most important first. Times are ISO timestamps unless `now` is given. */
export function sectionsOf({ explanation, timeline, order }: Found, now?: Date): Section[] {
  const { currency } = explanation.equation;
  const time: Time = (at) => (now ? relativeText(at, now) : plain(at));
  const sections: Section[] = [
    {
      title: 'order',
      lines: [
        ...about(explanation, order, time),
        ...why(explanation, time),
        ...refused(explanation, time),
        ...sums(explanation),
      ],
    },
    {
      title: 'refunds',
      lines: explanation.refunds.flatMap((refund) => [
        {
          label: 'refund',
          cells: [
            refund.refundNo,
            coded('refundState', refund.status),
            minorMoney(refund.amountMinor, currency),
            wish(order, refund.refundNo),
          ],
          look: refund.status,
        },
        { label: 'why', cells: [refund.reason] },
        ...(refund.next ? [next(refund.next, time)] : []),
        ...help(refund.fix),
      ]),
    },
    {
      title: 'exceptions',
      lines: (explanation.exceptions ?? []).flatMap(({ id, kind, fix }) => [
        { label: 'exception', cells: [coded('kind', kind), id] },
        // The advice for the exception is not printed if the advice for the order, printed above, begins with it.
        ...(explanation.fix?.startsWith(fix) ? [] : help(fix)),
      ]),
    },
    { title: 'bills', lines: billed(explanation) },
    {
      title: 'story',
      lines: timeline.map((step) => ({ label: 'step', cells: [time(step.at), ...stepCells(step, time)] })),
    },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

function billed({ bills = [], differences = [] }: Explanation): Line[] {
  return [
    ...bills.map(({ billNo, day, kind, amountMinor, feeMinor, currency }) => ({
      label: 'bill',
      cells: [
        day,
        joined([coded('lineKind', kind), minorMoney(amountMinor, currency)], ' '),
        say`fee ${minorMoney(feeMinor, currency)}`,
        billNo,
      ],
    })),
    ...differences.map(({ kind, state, billNo }) => ({
      label: 'differs',
      cells: [coded('kind', kind), coded('differenceState', state), `payctl bill differences ${billNo}`],
    })),
  ];
}

function about({ orderNo, status, askedBy, expiresAt }: Explanation, order: Row, time: Time): Line[] {
  const way = [
    coded('payWay', plain(order['payWay'])),
    coded('scene', plain(order['scene'])),
    coded('mode', plain(order['mode'])),
  ];
  const names: readonly [field: string, name: (value: string) => Text][] = [
    ['merchantOrderNo', (value) => say`merchant order ${value}`],
    ['channelTradeNo', (value) => say`channel order ${value}`],
    ['userId', (value) => say`payer ${value}`],
    ['product.code', (value) => say`product ${value}`],
    ['project', (value) => say`project ${value}`],
  ];
  const known = names.flatMap(([field, name]) => {
    const value = plain(valueOf(order, field));
    return value === '' ? [] : [name(value)];
  });
  const asker = askedBy ?? plain(order['clientId']);
  const open = ['created', 'pending', 'closing'].includes(status) && expiresAt;
  return [
    { label: 'order', cells: [orderNo, coded('orderState', status)], look: status },
    {
      label: 'what',
      cells: withoutEmpty([money(order['amount'], order['currency']), joined(way, ' '), plain(order['subject'])]),
    },
    {
      label: 'asked',
      cells: [
        ...(asker === '' ? [] : [say`by ${asker}`]),
        time(order['createdAt']),
        ...known,
        ...(open ? [say`expires ${time(expiresAt)}`] : []),
      ],
    },
  ];
}

function withoutEmpty(cells: readonly Text[]): Text[] {
  return cells.filter((cell) => english(cell) !== '');
}

function why({ reason, next: step, fix }: Explanation, time: Time): Line[] {
  const nothing = {
    label: 'next',
    cells: [fix ? say`nothing automatically: manual action is required` : say`nothing is scheduled`],
  };
  return [{ label: 'why', cells: [reason] }, step ? next(step, time) : nothing, ...help(fix)];
}

/** The service may not know of a payment because it refused the notification. */
function refused({ refusedNotices }: Explanation, time: Time): Line[] {
  if (!refusedNotices) return [];
  const { why: code, detail, change, count, at } = refusedNotices;
  const reason = coded('refusal', code);
  const many =
    count === 1
      ? say`1 notification of the channel was refused (${reason}): ${detail}`
      : say`${count} notifications of the channel were refused (${reason}): ${detail}`;
  return [{ label: 'notices', cells: [many, time(at)] }, ...help(change)];
}

function next({ action, at }: Next, time: Time): Line {
  return { label: 'next', cells: [action, at === null ? say`now` : time(at)] };
}

function help(fix: string | null): Line[] {
  const ways = fix?.split(/(?:, or |，或 )(?=payctl )/) ?? [];
  return ways.map((way) => ({ label: 'do', cells: [way], command: way.startsWith('payctl ') }));
}

/** `paid + overrun = refunded + refunding + kept`. `overrun` is printed only if more was refunded than paid. */
function sums({ equation }: Explanation): Line[] {
  const { currency, paid, refunded, refunding, kept, refundable } = equation;
  const amount = (minor: number): string => minorMoney(minor, currency).replace(` ${currency}`, '');
  if (paid === 0 && refunded === 0 && refunding === 0) return [{ label: 'money', cells: [say`nothing paid`] }];
  const over = refunded + refunding + kept - paid;
  const right = say`refunded ${amount(refunded)} + refunding ${amount(refunding)} + kept ${amount(kept)}`;
  const whole =
    over === 0
      ? say`paid ${amount(paid)} = ${right} ${currency}`
      : say`paid ${amount(paid)} + overrun ${amount(over)} = ${right} ${currency}`;
  return [{ label: 'money', cells: [whole, say`refundable ${amount(refundable)}`] }];
}

function wish(order: Row, refundNo: string): string {
  const refunds = Array.isArray(order['refunds']) ? (order['refunds'] as Row[]) : [];
  const reason = plain(refunds.find((refund) => refund['refundNo'] === refundNo)?.['reason']);
  return reason ? `“${reason}”` : '';
}
