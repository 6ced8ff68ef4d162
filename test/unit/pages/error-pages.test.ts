import test from 'ava';
import { type ErrorCode, errorCodes } from '../../../server/error-codes/error-codes.ts';
import { errorArticle, errorIndex, errorWords, refusalPage } from '../../../server/pages/error-pages.ts';
import { LANGUAGES } from '../../../server/pages/language.ts';

const codes = Object.keys(errorCodes) as ErrorCode[];

test('every error code has whole sentences in every language, with the same inline code', (t) => {
  const inCode = (text: string) => [...new Set(text.match(/`[^`]+`/g))].toSorted();
  for (const code of codes) {
    const [english, chinese] = [errorWords(code, 'en'), errorWords(code, 'zh')];
    t.regex(chinese.title, /\p{Script=Han}/u, code);
    for (const text of [chinese.meaning, chinese.remedy]) t.regex(text, /\p{Script=Han}[^]*。$/u, code);
    t.deepEqual(inCode(chinese.meaning), inCode(english.meaning), code);
    t.deepEqual(inCode(chinese.remedy), inCode(english.remedy), code);
  }
});

test('the index links to the page of every code, and each page links to the index', (t) => {
  for (const language of LANGUAGES) {
    const index = errorIndex(language);
    for (const code of codes) {
      t.true(index.includes(`<tr id="${code}"><td><a href="/docs/errors/${code}?lang=${language}">`), code);
      const article = errorArticle(code, language);
      t.true(
        article.includes(`<code>${code}</code>`) && article.includes(`href="/docs/errors?lang=${language}"`),
        code,
      );
      t.notRegex(article, /`|undefined/, code);
    }
  }
});

test('the page of a refusal by the channel names its causes, and links to the test of a declined payment', (t) => {
  const CAUSES = {
    en: [
      'balance',
      'bank',
      'risk control',
      'contract for the product',
      'merchant account',
      'parameter',
      'operator',
      '0.02',
    ],
    zh: ['余额', '银行', '风控', '未签约', '商户号', '参数', '运维人员', '0.02'],
  };
  for (const language of LANGUAGES) {
    const article = errorArticle('channel_refused', language);
    for (const cause of CAUSES[language]) t.true(article.includes(cause), cause);
    t.true(article.includes(`<a href="/docs/simulator?lang=${language}#amounts-that-decide">`), article);
  }
});

test('a refusal page gives advice to the reader, independent of the error code for programs', (t) => {
  const page = (code: ErrorCode, status: number, language: 'en' | 'zh') =>
    refusalPage({ code, status, requestId: 'r-1', language, address: '/pay/P1?token=x' });
  t.regex(page('not_found', 404, 'en'), /<h1>Page not found<\/h1>/);
  t.regex(page('rate_limited', 429, 'zh'), /<h1>请求过于频繁<\/h1>/);
  for (const code of ['database_unavailable', 'internal_error', 'channel_outcome_unknown'] as const)
    t.regex(page(code, 503, 'zh'), /<h1>页面暂时无法显示<\/h1>[^]*是否已经支付/);
  t.regex(page('csrf_failed', 403, 'en'), /<h1>CSRF check failed<\/h1>/);
  const html = page('internal_error', 500, 'en');
  t.regex(html, /r-1[^]*href="\/docs\/errors\/internal_error\?lang=en"[^]*href="\/pay\/P1\?token=x&#38;lang=zh"/);
  t.notRegex(html, /Retry-After|<script/);
});
