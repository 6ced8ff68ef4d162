import { type Language, LANGUAGE_TAGS } from './language.ts';

/** An amount in major units, all its decimals written, as readers of a language write it: `¥1,234.50`. */
export function moneyText(amount: string, currency: string, language: Language): string {
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(LANGUAGE_TAGS[language], {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // A number would lose digits of large amounts.
  return format.format(amount as Intl.StringNumericLiteral);
}
