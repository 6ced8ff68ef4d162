import { z } from 'zod';
import type { ReplyCookie, RequestFacts } from '../../http/contract.ts';
import { readCookies } from '../../http/cookies.ts';
import { LANGUAGE_TAGS, type Language, chooseLanguage, named } from '../../pages/language.ts';

export const Lang = z
  .string()
  .optional()
  .describe('Language of the page: `en` or `zh`. Without it the header Accept-Language decides.');

/**
 * The cookie with the language that the payer chose. The channel's return address has no language, so the return page
 * reads the language from this cookie.
 */
const LANGUAGE_COOKIE = 'pay_lang';
const KEPT_SECONDS = 30 * 86_400;

export interface PageLanguage {
  language: Language;
  headers: Record<string, string>;
  /** Empty if the request has no parameter `lang`, or if the cookie needs no change. */
  cookies: ReplyCookie[];
}

/** Returns the language of a payer's page: from `lang`, else the cookie `pay_lang`, else Accept-Language. */
export function payerLanguage(requested: string | undefined, { headers }: Pick<RequestFacts, 'headers'>): PageLanguage {
  const [kept] = readCookies(textOf(headers['cookie']), LANGUAGE_COOKIE);
  const accepted = textOf(headers['accept-language']);
  const language = chooseLanguage({ requested, kept, accepted });
  return {
    language,
    headers: { ...languageHeaders(language), vary: 'Accept-Language, Cookie' },
    cookies: named(requested) === undefined ? [] : keep(language, { kept, own: chooseLanguage({ accepted }) }),
  };
}

/** The language of a page whose links all have the parameter `lang`, so that it needs no cookie. */
export function pageLanguage(requested: string | undefined, { headers }: Pick<RequestFacts, 'headers'>): Language {
  return chooseLanguage({ requested, accepted: textOf(headers['accept-language']) });
}

/** Returns the HTTP headers of a page that is written in `language`. */
export function languageHeaders(language: Language): Record<string, string> {
  return { 'content-language': LANGUAGE_TAGS[language], vary: 'Accept-Language' };
}

function keep(language: Language, { kept, own }: { kept: string | undefined; own: Language }): ReplyCookie[] {
  const cookie = { name: LANGUAGE_COOKIE, sameSite: 'lax', maxAgeSeconds: KEPT_SECONDS } as const;
  if (language !== own) return kept === language ? [] : [{ ...cookie, value: language }];
  return kept === undefined ? [] : [{ ...cookie, value: null }];
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
