import type { PayWay } from '../payments/channel.ts';
import type { PayerState } from '../payments/orders/payer.ts';

/** How a state is shown: `busy` is polled, the others are final. */
export interface StateWords {
  tone: 'busy' | 'good' | 'quiet' | 'bad';
  title: string;
  text: string;
}

/** Everything that a payer may read, in one language. */
export interface PayerWords {
  /** Names of the channels as payers know them. */
  channels: Readonly<Record<PayWay, string>>;
  /** The apps in which payers pay, as their phones call them. */
  apps: Readonly<Record<PayWay, string>>;
  states: Readonly<Record<PayerState, StateWords>>;
  /** A text of a state with the name of the channel in the place of `{channel}`. */
  about(text: string, channel: string): string;
  /** A paid order with a return URL. */
  paidAndLeaving: StateWords;
  /** Back from the channel before it reported a result. */
  returned: StateWords;
  /** Back from the channel without having paid. */
  cancelled: StateWords;
  unknown: Pick<StateWords, 'title' | 'text'>;
  payNow: string;
  payWith(channel: string): string;
  payWithInstead(channel: string): string;
  scan(app: string): string;
  scanOrOpen(app: string): string;
  openApp(app: string): string;
  /** What the picture of a code is called for those who cannot see it. */
  codeOf(channel: string): string;
  /** Who has only this phone, and a code that its own app has to scan. */
  onThisPhone: string;
  confirmOnPhone(app: string): string;
  finishInApp: string;
  backToShop: string;
  order: string;
  refunded: string;
  timeLeft: string;
  lessThanMinute: string;
  duration(hours: number, minutes: number): string;
  days(count: number): string;
  simulator: string;
  sandbox: string;
}
