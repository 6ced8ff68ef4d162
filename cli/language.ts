import type * as chinese from './chinese.ts';

export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The variables that name the locale of messages; the first one that is not empty decides (POSIX). */
const LOCALE = ['LC_ALL', 'LC_MESSAGES', 'LANG'] as const;

/** Chooses the language: the flag --lang, otherwise the locale. Locales of other languages mean English. */
export function chooseLanguage(
  flag: Language | undefined,
  env: Record<string, string | undefined>,
): { language: Language; source: string } {
  if (flag !== undefined) return { language: flag, source: 'flag' };
  const source = LOCALE.find((name) => env[name] !== undefined && env[name] !== '');
  if (source === undefined) return { language: 'en', source: 'default' };
  return { language: /^zh(?![a-z])/i.test(env[source] ?? '') ? 'zh' : 'en', source };
}

/** The groups of coded values that have words, such as the states of a bill. */
export type WordGroup = keyof typeof chinese.VALUES;

/** The words of one language. What it does not know stays as it is in English. */
export interface Speech {
  readonly language: Language;
  /** The template of a text, with `{0}` for its first value. */
  template(english: string): string;
  /** The word for a coded value, such as `paid`. A nuance is added to the code: `amount_differs.surplus`. */
  word(group: WordGroup, code: string, nuance?: string): string;
  /** The heading of a column and the label of a field; undefined if the table has none. */
  label(field: string): string | undefined;
}

export const ENGLISH: Speech = {
  language: 'en',
  template: (english) => english,
  word: (_group, code) => code,
  label: () => undefined,
};

/** A text that is put into words when the language is known. */
export interface Phrase {
  in(speech: Speech): string;
}

export type Text = string | Phrase;

/** A text with values. The table in `chinese-texts.ts` has the Chinese template for each English one. */
export function say(parts: TemplateStringsArray, ...values: readonly (Text | number)[]): Phrase {
  const template = parts.reduce((whole, part, index) => `${whole}{${index - 1}}${part}`);
  return {
    in: (speech) =>
      speech.template(template).replaceAll(/\{(\d+)\}/g, (_, index: string) => {
        const value = values[Number(index)] ?? '';
        return typeof value === 'number' ? String(value) : textIn(value, speech);
      }),
  };
}

/** A coded value, such as a state. English shows the code. */
export function coded(group: WordGroup, code: string): Phrase {
  return { in: (speech) => speech.word(group, code) };
}

/** Texts in one line; empty ones are left out. A separator that is a template, such as `, `, has a Chinese form. */
export function joined(texts: readonly Text[], separator = ', '): Phrase {
  return {
    in: (speech) =>
      texts
        .map((text) => textIn(text, speech))
        .filter((text) => text !== '')
        .join(speech.template(separator)),
  };
}

/** A text of the service in English, and the same in the words of payctl in other languages. */
export function served(english: string, other: Phrase): Phrase {
  return { in: (speech) => (speech.language === 'en' ? english : other.in(speech)) };
}

/** A text in the words of a language. */
export function textIn(text: Text, speech: Speech): string {
  return typeof text === 'string' ? text : text.in(speech);
}

/** A text in English, for output that programs read. */
export function english(text: Text): string {
  return textIn(text, ENGLISH);
}

/** The words of a language. The Chinese table is loaded only for Chinese output. */
export async function speechOf(language: Language): Promise<Speech> {
  if (language === 'en') return ENGLISH;
  const [{ FIELDS, NUANCES, VALUES }, { TEXTS }] = await Promise.all([
    import('./chinese.ts'),
    import('./chinese-texts.ts'),
  ]);
  const find = (words: Readonly<Record<string, string>>, name: string): string | undefined =>
    Object.hasOwn(words, name) ? words[name] : undefined;
  return {
    language,
    template: (english) => find(TEXTS, english) ?? english,
    word: (group, code, nuance) =>
      (nuance === undefined ? undefined : find(NUANCES, `${code}.${nuance}`)) ?? find(VALUES[group], code) ?? code,
    label: (field) => find(FIELDS, field),
  };
}
