import { ChannelMisconfigured, type FeeRate, type FieldSpec } from '../payments/channel.ts';
import { exponentOf } from '../money.ts';

const NAME = 'feeRate';

const COMMON = { name: NAME, label: 'Fee rate', secret: false, requiredIn: [] } as const;

export const PERCENT_FIELD: FieldSpec = {
  ...COMMON,
  help: 'The fee of the channel for a payment, in percent: 0.6 or 0.6%. Fees in bills are compared with it; leave it empty to compare none.',
};

export const PERCENT_AND_AMOUNT_FIELD: FieldSpec = {
  ...COMMON,
  help: 'The fee of the channel for a payment, in percent, and a fixed amount for each payment if there is one: 3.49% + 0.49 USD. Fees in bills are compared with it, except for payments in a currency other than that of the fixed amount. Leave it empty to compare none.',
};

const PERCENT = /^(\d{1,2})(?:\.(\d{1,4}))?\s*%?$/;
const AMOUNT = /^(\d{1,6})(?:\.(\d{1,2}))?\s*([A-Za-z]{3})$/;

/** Reads the configured fee rate, with a fixed amount per payment only if `withAmount`. Throws ChannelMisconfigured. */
export function readFeeRate(
  fields: Readonly<Record<string, string>>,
  { withAmount }: { withAmount: boolean },
): FeeRate | undefined {
  const text = fields[NAME]?.trim();
  if (!text) return undefined;
  const [percent = '', amount, ...more] = text.split('+').map((part) => part.trim());
  if (amount !== undefined && !withAmount) throw wrong(text, 'this channel has no fixed fee per payment');
  if (more.length > 0) throw wrong(text, 'it contains more than one fixed amount');
  return { share: readShare(percent, text), ...(amount === undefined ? NOTHING : readFixed(amount, text)) };
}

const NOTHING = { fixed: 0n, fixedCurrency: null } as const;

/** Converts 0.6 to 0.006. The decimal point is moved in the text, so that the value stays exact. */
function readShare(percent: string, text: string): string {
  const [, whole, behind = ''] = PERCENT.exec(percent) ?? [];
  if (whole === undefined)
    throw wrong(text, 'the percentage must be below 100 with at most four decimals, such as 0.6 or 3.49%');
  return `0.${whole.padStart(2, '0')}${behind}`;
}

function readFixed(amount: string, text: string): Pick<FeeRate, 'fixed' | 'fixedCurrency'> {
  const [, whole = '', behind = '', code] = AMOUNT.exec(amount) ?? [];
  if (code === undefined) throw wrong(text, 'the fixed amount must be written like 0.49 USD');
  const currency = code.toUpperCase();
  const exponent = exponentOf(currency);
  if (exponent === undefined) throw wrong(text, `${currency} is not supported`);
  if (behind.length > exponent) throw wrong(text, `${currency} has ${exponent} decimals`);
  return { fixed: BigInt(whole + behind.padEnd(exponent, '0')), fixedCurrency: currency };
}

function wrong(text: string, why: string): ChannelMisconfigured {
  return new ChannelMisconfigured(NAME, `${NAME} "${text.slice(0, 60)}" cannot be read: ${why}.`);
}
