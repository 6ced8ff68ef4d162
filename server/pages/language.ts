// Languages of pages, and amounts as readers of each language write them.

/** Languages that pages are written in; the first is for readers of any other. */
export const LANGUAGES = ['en', 'zh'] as const;

/** One of them. */
export type Language = (typeof LANGUAGES)[number];

/** How documents and headers name a language (BCP 47). */
export const LANGUAGE_TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

/** Each language in its own words, for the switch. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };

/** What is known of the reader's language, the strongest word first. */
interface LanguagePreferences {
  /** The parameter `lang` of the address. */
  asked?: string | undefined;
  /** What was kept of an earlier `lang`. */
  kept?: string | undefined;
  /** The header Accept-Language. */
  accepted?: string | undefined;
}

/** The language of a page for its reader; a wish that names none of ours counts as not made. */
export function chooseLanguage({ asked, kept, accepted }: LanguagePreferences): Language {
  return named(asked) ?? named(kept) ?? acceptedLanguage(accepted ?? '') ?? LANGUAGES[0];
}

/** The language of a tag such as `zh-Hans-CN`, or undefined when no page is written in it. */
export function named(tag: string | undefined): Language | undefined {
  const primary = /^([a-z]{2})(?:-|$)/i.exec(tag ?? '')?.[1]?.toLowerCase();
  return LANGUAGES.find((language) => language === primary);
}

/** RFC 9110 §12.5.4: the highest quality wins, the first of equals; what has none is refused. */
function acceptedLanguage(header: string): Language | undefined {
  let best: { language: Language; quality: number } | undefined;
  for (const part of header.slice(0, 1000).split(',')) {
    const [tag = '', ...parameters] = part.trim().split(/\s*;\s*/);
    const language = named(tag);
    const quality = Number(/^q=([\d.]+)$/i.exec(parameters.find((one) => /^q=/i.test(one)) ?? 'q=1')?.[1] ?? 0);
    if (language && quality > (best?.quality ?? 0)) best = { language, quality };
  }
  return best?.language;
}

/** The same address in a language; other parameters and the fragment stay. */
export function inLanguage(address: string, language: Language): string {
  const [whole = '', fragment] = address.split('#');
  const [path = '', query = ''] = whole.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('lang', language);
  return `${path}?${parameters}${fragment === undefined ? '' : `#${fragment}`}`;
}

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
