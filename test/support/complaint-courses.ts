import type { ComplaintResult, PayWay } from '../../server/payments/channel.ts';
import type { Standing } from './dispute-courses.ts';

/** What somebody does about a complaint: the payer (or the merchant in the channel's own console), a portal, or we. */
export type Deed =
  | { by: 'payer'; act: string; more?: object }
  | { by: 'portal'; refund: number }
  | { by: 'us'; refund?: number; finish?: ComplaintResult };

/** What happens, after so many days, and how the order stands once the service has looked. */
export interface Phase {
  days?: number;
  deeds: readonly Deed[];
  standing: Standing;
}

/** What becomes of one complaint, or two, about a payment of 10. */
export interface Course {
  name: string;
  payWay: PayWay;
  phases: readonly Phase[];
}

const payer = (act: string, more: object = {}): Deed => ({ by: 'payer', act, more });
/** The payer asks for 4 of 10 back; at Alipay the merchant has long to answer, so that only those are overdue that are meant. */
const open = (more: object = {}): Deed => payer('open', { amount: 4, dueDays: 100, ...more });
const answer: Deed = { by: 'us' };
const finish = (result: ComplaintResult): Deed => ({ by: 'us', finish: result });
const refund = (amount: number): Deed => ({ by: 'us', refund: amount });

const waits: Standing = { states: ['needs_answer'], refunded: 0n };
const examined: Standing = { states: ['under_review'], refunded: 0n };
const over: Standing = { states: ['won'], refunded: 0n };
const back = (standing: Standing, refunded: bigint): Standing => ({ ...standing, refunded });
const elsewhere = (standing: Standing): Standing => ({ ...standing, refunded: 1000n, listed: ['refund_elsewhere'] });

const WECHAT: readonly Omit<Course, 'payWay'>[] = [
  {
    name: 'answered and finished by us',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [answer], standing: examined },
      { deeds: [finish('other')], standing: over },
    ],
  },
  {
    name: 'finished in the console',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [payer('win')], standing: over },
    ],
  },
  {
    name: 'over before anybody looked',
    phases: [{ deeds: [open(), payer('review'), payer('win')], standing: over }],
  },
  {
    name: 'the payer writes again',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [answer], standing: examined },
      { deeds: [payer('ask')], standing: waits },
      { deeds: [answer, finish('agreed')], standing: over },
    ],
  },
  {
    name: 'refunded in part by us',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [refund(4)], standing: back(waits, 400n) },
      { deeds: [finish('refunded')], standing: back(over, 400n) },
    ],
  },
  {
    name: 'refunded in the portal',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [{ by: 'portal', refund: 10 }], standing: elsewhere(waits) },
      { deeds: [payer('win')], standing: elsewhere(over) },
    ],
  },
  {
    name: 'gone on with after its end, and refunded',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [answer, finish('other')], standing: over },
      { deeds: [payer('appeal')], standing: waits },
      { deeds: [refund(10), finish('refunded')], standing: back(over, 1000n) },
    ],
  },
  {
    name: 'gone on with ten days later',
    phases: [
      { deeds: [open(), payer('win')], standing: over },
      { days: 10, deeds: [payer('appeal')], standing: waits },
      { deeds: [payer('win')], standing: over },
    ],
  },
];

const ALIPAY: readonly Omit<Course, 'payWay'>[] = [
  {
    name: 'ended by our answer',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [answer], standing: over },
    ],
  },
  {
    name: 'worked on, and finished by us',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [payer('review')], standing: examined },
      { deeds: [finish('agreed')], standing: over },
    ],
  },
  {
    name: 'withdrawn',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [payer('cancel')], standing: over },
    ],
  },
  { name: 'over before anybody looked', phases: [{ deeds: [open(), payer('win')], standing: over }] },
  {
    name: 'refunded in part by us',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [refund(4)], standing: back(waits, 400n) },
      { deeds: [finish('refunded')], standing: back(over, 400n) },
    ],
  },
  {
    name: 'refunded in the portal',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [{ by: 'portal', refund: 10 }], standing: elsewhere(waits) },
      { deeds: [finish('refunded')], standing: elsewhere(over) },
    ],
  },
  {
    name: 'overdue, then answered',
    phases: [
      { deeds: [open({ dueDays: 3 })], standing: waits },
      { days: 10, deeds: [], standing: waits },
      { deeds: [answer], standing: over },
    ],
  },
  {
    name: 'overdue, then withdrawn',
    phases: [
      { deeds: [open({ dueDays: 3 })], standing: waits },
      { days: 10, deeds: [payer('cancel')], standing: over },
    ],
  },
  {
    name: 'complained about twice',
    phases: [
      { deeds: [open()], standing: waits },
      { deeds: [finish('agreed')], standing: over },
      { deeds: [open()], standing: { states: ['won', 'needs_answer'], refunded: 0n } },
      { deeds: [refund(4), finish('refunded')], standing: { states: ['won', 'won'], refunded: 400n } },
    ],
  },
];

/** Of both channels; complaints take no money, so nothing is lost in any of them. */
export const COMPLAINT_COURSES: readonly Course[] = [
  ...WECHAT.map((course) => ({ ...course, name: `WeChat Pay: ${course.name}`, payWay: 'wechat' as const })),
  ...ALIPAY.map((course) => ({ ...course, name: `Alipay: ${course.name}`, payWay: 'alipay' as const })),
];
