import type { Outcome } from '../channel.ts';
import type { OrderState } from '../../domain.ts';

/** What is done with an outcome, given the stored state. */
export type Decision =
  | 'accept' // the channel has it
  | 'note' // what was said is remembered, the order stays
  | 'withhold' // an answer after the close: no credential, close again
  | 'capture' // take the approved money
  | 'pay'
  | 'late' // money after the end
  | 'await_reverse' // the close may be giving it back
  | 'again' // paid before
  | 'refuse' // another order has this payment
  | 'hint' // the channel calls a paid order closed
  | 'close'
  | 'fail' // when the refusal is definite and the first word ever
  | 'nothing';

/** Every pair of state and outcome; the default of the service is to stay. */
export const DECISIONS: Readonly<Record<OrderState, Readonly<Record<Outcome['kind'], Decision>>>> = {
  created: {
    pending: 'accept',
    approved: 'capture',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'fail',
    unknown: 'note',
  },
  pending: {
    pending: 'note',
    approved: 'capture',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'note',
    unknown: 'note',
  },
  closing: {
    pending: 'withhold',
    approved: 'note',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'note',
    unknown: 'note',
  },
  closed: {
    pending: 'withhold',
    approved: 'nothing',
    paid: 'late',
    closed: 'nothing',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
  failed: {
    pending: 'withhold',
    approved: 'nothing',
    paid: 'late',
    closed: 'nothing',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
  paid: {
    pending: 'nothing',
    approved: 'nothing',
    paid: 'again',
    closed: 'hint',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
};
