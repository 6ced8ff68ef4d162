import type { Context } from 'koa';
import { chooseLanguage, type Language, LANGUAGE_TAGS } from '../pages/language.ts';
import { queryText } from './control-request.ts';

/** The language of a page for whoever asks for it. */
export function languageOf(ctx: Context): Language {
  return chooseLanguage({ asked: queryText(ctx, 'lang'), accepted: ctx.get('accept-language') });
}

/** Answers with a page that runs nothing but what comes from here. */
export function showPage(
  ctx: Context,
  page: { status: number; language: Language; html: string; policy: string },
): void {
  ctx.set('content-security-policy', page.policy);
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('cache-control', 'no-store');
  ctx.set('content-language', LANGUAGE_TAGS[page.language]);
  ctx.vary('Accept-Language');
  ctx.type = 'text/html; charset=utf-8';
  ctx.status = page.status;
  ctx.body = page.html;
}
