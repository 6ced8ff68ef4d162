import { z } from 'zod';
import { isErrorCode } from '../error-codes/error-codes.ts';
import { NotFound } from '../errors.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { readGuideFile } from '../http/guides.ts';
import { once } from '../http/once.ts';
import { ERROR_INDEX_MARK, errorArticle, errorIndex } from '../pages/error-pages.ts';
import { errorWords } from '../pages/error-words.ts';
import { guidePage } from '../pages/guide-page.ts';
import { type Guide, guidePath, GUIDES } from '../pages/guides.ts';
import { type Language, LANGUAGES } from '../pages/language.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { Code } from './wire/fields.ts';
import { Lang, languageHeaders, pageLanguage } from './wire/language.ts';

/** What the guides know of the service that serves them. */
export interface GuideSettings {
  /** Takes the place of the address of a service on a laptop, in every sample. */
  publicUrl: string;
  /** Whether the API explorer is served. */
  explorer: boolean;
}

/** The address that the samples are written for. */
const LAPTOP = 'http://127.0.0.1:8080';

/** The guides, and the page of each error code. */
export function guideRoutes({ publicUrl, explorer }: GuideSettings): RouteGroup {
  const router = routeGroup('/docs');
  for (const guide of GUIDES) {
    const pages = Object.fromEntries(LANGUAGES.map((one) => [one, once(() => pageOf(guide, one))]));
    router.get(
      guidePath(guide.slug).slice('/docs'.length),
      endpoint({ ...htmlPage }, async ({ query, request }) => {
        const language = pageLanguage(query.lang, request);
        return html(language, (await pages[language]?.()) ?? '');
      }),
    );
  }

  router.get(
    '/errors/:code',
    endpoint({ ...htmlPage, params: z.object({ code: Code }) }, ({ params: { code }, query, request }) => {
      if (!isErrorCode(code)) throw new NotFound('error code');
      const language = pageLanguage(query.lang, request);
      const { title } = errorWords(code, language);
      const article = errorArticle(code, language);
      return html(
        language,
        guidePage({ language, address: `/docs/errors/${code}`, title, slug: 'errors', article, explorer }),
      );
    }),
  );
  return router;

  async function pageOf({ slug, titles }: Guide, language: Language): Promise<string> {
    const text = Buffer.from((await readGuideFile(`${language}/${slug}.html`))!).toString('utf8');
    const article = text.replaceAll(LAPTOP, publicUrl).replace(ERROR_INDEX_MARK, () => errorIndex(language));
    return guidePage({ language, address: guidePath(slug), title: titles[language], slug, article, explorer });
  }
}

const htmlPage = { auth: 'none', query: z.object({ lang: Lang }), raw: 'html', hidden: true } as const;

function html(language: Language, body: string): Reply {
  const headers = {
    ...languageHeaders(language),
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
  };
  return new Reply({ headers, body });
}
