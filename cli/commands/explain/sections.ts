import { type Row, minorMoney, money, plain, relativeTime, valueOf } from '../../values.ts';

interface Step {
  at: string;
  kind: string;
  summary: string;
  detail?: Row;
}

/** The columns of a step: a symbol or a word such as `move`, a summary, and details such as the cause or the result. */
function stepCells({ kind, summary, detail = {} }: Step, time: (at: unknown) => string): string[] {
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

function messageResult(read: Read, time: (at: unknown) => string): string {
  const took = read('durationMs') ? `${read('durationMs')} ms` : '';
  const key = read('key') || read('verifiedBy');
  const often = Number(read('times')) > 1 ? `${read('times')} times until ${time(read('lastAt'))}` : '';
  const support = read('supportId') && `support id ${read('supportId')}`;
  return [read('status'), read('note'), took, often, key && `verified by ${key}`, support].filter(Boolean).join(', ');
}

function deliveryResult(read: Read, time: (at: unknown) => string): string {
  const tries = read('attempts') === '1' ? '1 try' : `${read('attempts') || '0'} tries`;
  const again = read('nextAttemptAt') && `next ${time(read('nextAttemptAt'))}`;
  return [read('lastStatus'), read('lastError'), tries, again].filter(Boolean).join(', ');
}

function resolution(read: Read): string {
  return [read('resolution'), read('reason')].filter(Boolean).join(': ');
}

/** The next action of the service for the order. `at` is null while the action is in progress. */
interface Next {
  action: string;
  at: string | null;
}

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
  exceptions: { id: string; kind: string; fix: string }[];
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
  cells: readonly string[];
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
  const time = (at: unknown): string => (now ? relativeTime(at, now) : plain(at));
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
            refund.status,
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
      lines: explanation.exceptions.flatMap(({ id, kind, fix }) => [
        { label: 'exception', cells: [kind, id] },
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
      cells: [day, `${kind} ${minorMoney(amountMinor, currency)}`, `fee ${minorMoney(feeMinor, currency)}`, billNo],
    })),
    ...differences.map(({ kind, state, billNo }) => ({
      label: 'differs',
      cells: [kind, state, `payctl bill differences ${billNo}`],
    })),
  ];
}

function about(
  { orderNo, status, askedBy, expiresAt }: Explanation,
  order: Row,
  time: (at: unknown) => string,
): Line[] {
  const facts = [
    money(order['amount'], order['currency']),
    [order['payWay'], order['scene'], order['mode']].map(plain).filter(Boolean).join(' '),
    plain(order['subject']),
  ];
  const names = [
    ['merchant order', 'merchantOrderNo'],
    ['channel order', 'channelTradeNo'],
    ['payer', 'userId'],
    ['product', 'product.code'],
    ['project', 'project'],
  ] as const;
  const known = names.flatMap(([word, field]) =>
    plain(valueOf(order, field)) ? [`${word} ${plain(valueOf(order, field))}`] : [],
  );
  const open = ['created', 'pending', 'closing'].includes(status) && expiresAt;
  return [
    { label: 'order', cells: [orderNo, status], look: status },
    { label: 'what', cells: facts.filter(Boolean) },
    {
      label: 'asked',
      cells: [
        `by ${askedBy ?? plain(order['clientId'])}`,
        time(order['createdAt']),
        ...known,
        ...(open ? [`expires ${time(expiresAt)}`] : []),
      ],
    },
  ];
}

function why({ reason, next: step, fix }: Explanation, time: (at: unknown) => string): Line[] {
  const nothing = {
    label: 'next',
    cells: [fix ? 'nothing automatically: manual action is required' : 'nothing is scheduled'],
  };
  return [{ label: 'why', cells: [reason] }, step ? next(step, time) : nothing, ...help(fix)];
}

/** The service may not know of a payment because it refused the notification. */
function refused({ refusedNotices }: Explanation, time: (at: unknown) => string): Line[] {
  if (!refusedNotices) return [];
  const { why: reason, detail, change, count, at } = refusedNotices;
  const many = count === 1 ? '1 notification of the channel was' : `${count} notifications of the channel were`;
  return [{ label: 'notices', cells: [`${many} refused (${reason}): ${detail}`, time(at)] }, ...help(change)];
}

function next({ action, at }: Next, time: (at: unknown) => string): Line {
  return { label: 'next', cells: [action, at === null ? 'now' : time(at)] };
}

function help(fix: string | null): Line[] {
  return fix ? [{ label: 'do', cells: [fix], command: fix.startsWith('payctl ') }] : [];
}

/** `paid + overrun = refunded + refunding + kept`. `overrun` is printed only if more was refunded than paid. */
function sums({ equation }: Explanation): Line[] {
  const { currency, paid, refunded, refunding, kept, refundable } = equation;
  const amount = (minor: number): string => minorMoney(minor, currency).replace(` ${currency}`, '');
  if (paid === 0 && refunded === 0 && refunding === 0) return [{ label: 'money', cells: ['nothing paid'] }];
  const over = refunded + refunding + kept - paid;
  const left = [`paid ${amount(paid)}`, ...(over === 0 ? [] : [`overrun ${amount(over)}`])].join(' + ');
  const right = `refunded ${amount(refunded)} + refunding ${amount(refunding)} + kept ${amount(kept)}`;
  return [{ label: 'money', cells: [`${left} = ${right} ${currency}`, `refundable ${amount(refundable)}`] }];
}

function wish(order: Row, refundNo: string): string {
  const refunds = Array.isArray(order['refunds']) ? (order['refunds'] as Row[]) : [];
  const reason = plain(refunds.find((refund) => refund['refundNo'] === refundNo)?.['reason']);
  return reason ? `“${reason}”` : '';
}
