// Languages of pages, and amounts in the notation of each language.

/** Languages of the pages; the first one is the default. */
export const LANGUAGES = ['en', 'zh'] as const;

/** A language of the pages. */
export type Language = (typeof LANGUAGES)[number];

/** The BCP 47 tag of each language. */
export const LANGUAGE_TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

/** The name of each language in that language, for the links that switch the language. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };

/** Sources of the reader's language, the strongest first. */
interface LanguagePreferences {
  /** The value of the parameter `lang` in the URL. */
  asked?: string | undefined;
  /** The value of an earlier `lang` that was stored in a cookie. */
  kept?: string | undefined;
  /** The value of the header Accept-Language. */
  accepted?: string | undefined;
}

/** The language of a page; unsupported languages are ignored. */
export function chooseLanguage({ asked, kept, accepted }: LanguagePreferences): Language {
  return named(asked) ?? named(kept) ?? acceptedLanguage(accepted ?? '') ?? LANGUAGES[0];
}

/** The language of a tag such as `zh-Hans-CN`; undefined if pages do not support it. */
export function named(tag: string | undefined): Language | undefined {
  const primary = /^([a-z]{2})(?:-|$)/i.exec(tag ?? '')?.[1]?.toLowerCase();
  return LANGUAGES.find((language) => language === primary);
}

/** RFC 9110 §12.5.4: the highest quality wins, the first of equals; a quality of 0 excludes a language. */
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

/** The same address with the parameter `lang`; other parameters and the fragment stay. */
export function inLanguage(address: string, language: Language): string {
  const [whole = '', fragment] = address.split('#');
  const [path = '', query = ''] = whole.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('lang', language);
  return `${path}?${parameters}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** An amount in major units with all its decimals, in the notation of a language: `¥1,234.50`. */
export function moneyText(amount: string, currency: string, language: Language): string {
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(LANGUAGE_TAGS[language], {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // A conversion to number would lose digits of large amounts.
  return format.format(amount as Intl.StringNumericLiteral);
}
