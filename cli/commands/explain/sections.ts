import { minorMoney, money, plain, relativeTime, valueOf, type Row } from '../../values.ts';
import { stepCells, type Step } from './steps.ts';

/** What the service does next; `at` null = it is being done right now. */
interface Next {
  action: string;
  at: string | null;
}

/** The server's explanation of an order. */
export interface Explanation {
  orderNo: string;
  status: string;
  situation: string;
  reason: string;
  next: Next | null;
  fix: string | null;
  askedBy?: string;
  expiresAt?: string;
  /** Minor units. */
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

/** Everything that was read about an order. */
export interface Found {
  explanation: Explanation;
  timeline: readonly Step[];
  order: Row;
}

/** One labelled line; on a page the cells become a sentence. */
export interface Line {
  label: string;
  cells: readonly string[];
  /** A status word that colours the line's first cell. */
  look?: string;
  /** A command to type: never broken. */
  command?: boolean;
}

/** Lines that belong together. */
export interface Section {
  title: 'order' | 'refunds' | 'exceptions' | 'bills' | 'story';
  lines: readonly Line[];
}

/** The explanation in sections, most important first; with `now` times are distances, else ISO. */
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
        // An order's own reason may name the same command more fully.
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

/** What the channel's bills say, and where that is not what the order says. */
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

/** Why the channel may have told of the payment, and the order does not know. */
function refused({ refusedNotices }: Explanation, time: (at: unknown) => string): Line[] {
  if (!refusedNotices) return [];
  const { why: reason, detail, change, count, at } = refusedNotices;
  const many = count === 1 ? '1 notification of the channel was' : `${count} notifications of the channel were`;
  return [{ label: 'notices', cells: [`${many} refused (${reason}): ${detail}`, time(at)] }, ...help(change)];
}

function next({ action, at }: Next, time: (at: unknown) => string): Line {
  return { label: 'next', cells: [action, at === null ? 'now' : time(at)] };
}

/** A fix that is no command is advice. */
function help(fix: string | null): Line[] {
  return fix ? [{ label: 'do', cells: [fix], command: fix.startsWith('payctl ') }] : [];
}

/** paid (+ refunded beyond what was paid) = refunded + refunding + kept */
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
