// The languages of the pages, and amounts in the notation of each language.

/** The languages of the pages. The first one is the default. */
export const LANGUAGES = ['en', 'zh'] as const;

export type Language = (typeof LANGUAGES)[number];

export const LANGUAGE_TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };

/** The sources of the reader's language, in the sequence of their priority. */
interface LanguagePreferences {
  /** The parameter `lang` in the URL. */
  requested?: string | undefined;
  /** The language that the reader chose earlier with `lang`, stored in a cookie. */
  kept?: string | undefined;
  /** The header Accept-Language. */
  accepted?: string | undefined;
}

/** Chooses the language of a page. Languages that the pages do not support are ignored. */
export function chooseLanguage({ requested, kept, accepted }: LanguagePreferences): Language {
  return named(requested) ?? named(kept) ?? acceptedLanguage(accepted ?? '') ?? LANGUAGES[0];
}

/** Returns the page language of a tag such as `zh-Hans-CN`; undefined if the pages do not support it. */
export function named(tag: string | undefined): Language | undefined {
  const primary = /^([a-z]{2})(?:-|$)/i.exec(tag ?? '')?.[1]?.toLowerCase();
  return LANGUAGES.find((language) => language === primary);
}

/** RFC 9110 §12.5.4: the first of several languages with the same quality wins, and a quality of 0 excludes one. */
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

/** Adds the parameter `lang` to a URL. Other parameters and the fragment are kept. */
export function inLanguage(address: string, language: Language): string {
  const [whole = '', fragment] = address.split('#');
  const [path = '', query = ''] = whole.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('lang', language);
  return `${path}?${parameters}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** Formats an amount in major units with all its decimals, in the notation of a language, for example `¥1,234.50`. */
export function moneyText(amount: string, currency: string, language: Language): string {
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(LANGUAGE_TAGS[language], {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // Intl formats the text without converting it to a number, because a number would lose digits of large amounts.
  return format.format(amount as Intl.StringNumericLiteral);
}
