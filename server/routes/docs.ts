import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { type ErrorCode, errorCodes, isErrorCode } from '../error-codes/error-codes.ts';
import { NotFound } from '../errors.ts';
import { UNCHANGED } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import {
  type ExplorerFile,
  explorerFiles,
  explorerPolicy,
  once,
  readExplorerFile,
  readGuideFile,
  swaggerAssets,
} from '../http/built-files.ts';
import { type RouteGroup, joinGroups, routeGroup } from '../http/router.ts';
import {
  type ApiDocument,
  type ApiPage,
  type ApiSettings,
  answeringOperations,
  apiIndex,
  eventPage,
  eventPath,
  merchantOperations,
  operationPage,
  operationPath,
} from '../pages/api-pages.ts';
import { ERROR_INDEX_MARK, errorArticle, errorIndex, errorWords } from '../pages/error-pages.ts';
import {
  GUIDE_SCRIPT,
  GUIDE_SCRIPT_PATH,
  GUIDES,
  type Guide,
  LONGEST_SEARCH,
  SEARCH_PATH,
  guidePage,
  guidePath,
} from '../pages/guides.ts';
import { LANGUAGES, type Language } from '../pages/language.ts';
import { FIELD_WORDS } from '../pages/search-words.ts';
import { type SearchedPage, type Section, findSections, searchArticle, sectionsOf } from '../pages/search.ts';
import { Code } from './schemas/fields.ts';
import { Lang, languageHeaders, pageLanguage } from './schemas/language.ts';

interface GuideSettings {
  publicUrl: string;
  explorer: boolean;
}

/** The local address that the samples of the guides contain. `publicUrl` replaces it. */
const LAPTOP = 'http://127.0.0.1:8080';

/**
 * Routes of the guides (documentation pages), of one page for each error code, of the API reference of merchants, and of
 * the search in all of them.
 */
export function guideRoutes({ publicUrl, explorer }: GuideSettings): RouteGroup {
  const router = routeGroup();
  for (const guide of GUIDES) {
    const pages = Object.fromEntries(LANGUAGES.map((one) => [one, once(() => pageOf(guide, one))]));
    router.get(
      guidePath(guide.slug),
      endpoint({ ...htmlPage }, async ({ query, request }) => {
        const language = pageLanguage(query.lang, request);
        return html(language, (await pages[language]?.()) ?? '');
      }),
    );
  }

  const api = once(async () => {
    const { body } = await readExplorerFile('merchant.json');
    return JSON.parse(body.toString('utf8')) as ApiDocument;
  });
  router.get(
    '/docs/errors/:code',
    endpoint({ ...htmlPage, params: z.object({ code: Code }) }, async ({ params: { code }, query, request }) => {
      if (!isErrorCode(code)) throw new NotFound('error code');
      const language = pageLanguage(query.lang, request);
      const { title } = errorWords(code, language);
      const article = errorArticle(code, language, answeringOperations(await api(), code, language));
      return html(
        language,
        guidePage({ language, address: `/docs/errors/${code}`, title, slug: 'errors', article, explorer }),
      );
    }),
  );

  const reference = async (
    what: string,
    address: string,
    language: Language,
    make: (document: ApiDocument, settings: ApiSettings) => ApiPage | undefined,
  ): Promise<Reply> => {
    const page = make(await api(), { language, publicUrl, explorer });
    if (page === undefined) throw new NotFound(what);
    return html(language, guidePage({ language, address, slug: 'api', explorer, ...page }));
  };
  router.get(
    guidePath('api'),
    endpoint({ ...htmlPage }, ({ query, request }) =>
      reference('index', guidePath('api'), pageLanguage(query.lang, request), apiIndex),
    ),
  );
  router.get(
    operationPath(':operationId'),
    endpoint({ ...htmlPage, params: z.object({ operationId: Code }) }, ({ params: { operationId }, query, request }) =>
      reference('operation', operationPath(operationId), pageLanguage(query.lang, request), (document, settings) =>
        operationPage(document, operationId, settings),
      ),
    ),
  );
  router.get(
    eventPath(':event'),
    endpoint({ ...htmlPage, params: z.object({ event: EventType }) }, ({ params: { event }, query, request }) =>
      reference('event', eventPath(event), pageLanguage(query.lang, request), (document, settings) =>
        eventPage(document, event, settings),
      ),
    ),
  );

  const indexes = Object.fromEntries(LANGUAGES.map((one) => [one, once(() => indexOf(one))]));
  router.get(
    SEARCH_PATH,
    endpoint(
      { ...htmlPage, query: z.object({ lang: Lang, q: z.string().default('') }) },
      async ({ query, request }) => {
        const language = pageLanguage(query.lang, request);
        const asked = query.q.slice(0, LONGEST_SEARCH).toWellFormed().trim();
        const found = findSections(asked === '' ? [] : ((await indexes[language]?.()) ?? []), asked);
        const address = `${SEARCH_PATH}?${new URLSearchParams({ q: asked })}`;
        const page = searchArticle(asked, found, language);
        return html(language, guidePage({ language, address, slug: 'search', explorer, asked, ...page }));
      },
    ),
  );
  router.get(
    GUIDE_SCRIPT_PATH,
    endpoint(asset, () => {
      const headers = {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
      };
      return new Reply({ headers, body: GUIDE_SCRIPT });
    }),
  );
  return router;

  async function pageOf(guide: Guide, language: Language): Promise<string> {
    const { slug, titles } = guide;
    const article = (await articleOf(guide, language)).replace(ERROR_INDEX_MARK, () => errorIndex(language));
    return guidePage({ language, address: guidePath(slug), title: titles[language], slug, article, explorer });
  }

  async function articleOf({ slug, group }: Guide, language: Language): Promise<string> {
    const text = Buffer.from((await readGuideFile(`${language}/${slug}.html`))!).toString('utf8');
    // Guides about running the service mean its own machine, where a proxy or payctl calls it.
    return text.replaceAll(LAPTOP, group === 'run' ? LAPTOP : publicUrl);
  }

  /** Other requests are served between two pages, because rendering them all takes a noticeable time. */
  async function indexOf(language: Language): Promise<Section[]> {
    const sections: Section[] = [];
    for await (const page of searchedPages(language)) {
      sections.push(...sectionsOf(page));
      await nextTurn();
    }
    return sections;
  }

  /** The pages in the sequence in which a search lists those that fit equally. */
  async function* searchedPages(language: Language): AsyncGenerator<SearchedPage> {
    const document = await api();
    const settings: ApiSettings = { language, publicUrl, explorer };
    for (const guide of GUIDES) {
      const { slug, titles } = guide;
      const article = await articleOf(guide, language);
      yield { title: titles[language], path: guidePath(slug), names: [slug], article };
    }
    yield { path: guidePath('api'), names: [], ...apiIndex(document, settings) };
    for (const { method, path, operation } of merchantOperations(document)) {
      const { operationId: id } = operation;
      const page = operationPage(document, id, settings);
      if (page) yield { path: operationPath(id), names: [id, path, `${method} ${path}`, FIELD_WORDS], ...page };
    }
    for (const type of Object.keys(document.webhooks)) {
      const page = eventPage(document, type, settings);
      if (page) yield { path: eventPath(type), names: [FIELD_WORDS], ...page };
    }
    for (const code of Object.keys(errorCodes) as ErrorCode[]) {
      const { title } = errorWords(code, language);
      yield { title, path: `/docs/errors/${code}`, names: [code], article: errorArticle(code, language) };
    }
  }
}

const EventType = z.string().max(64);

const htmlPage = { auth: 'none', query: z.object({ lang: Lang }), raw: 'html', hidden: true } as const;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

function html(language: Language, body: string): Reply {
  const headers = {
    ...languageHeaders(language),
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-cache',
  };
  return new Reply({ headers, body });
}

/** Serves `/openapi.json`, where AI agents look for operations that they can pay for (draft-payment-discovery-01). */
export function discoveryRoutes(): RouteGroup {
  const router = routeGroup();
  const read = once(() => readExplorerFile('doc.json'));
  const headers = { 'content-type': explorerFiles['doc.json'], 'cache-control': 'max-age=300' };

  /**
   * @openapi
   * /openapi.json:
   *   get:
   *     tags: [Service]
   *     operationId: getOpenApiForAgents
   *     summary: OpenAPI document for agents
   *     description: >-
   *       The same document as `/swagger/doc.json`, at the address where AI agents look for it. `x-service-info` describes the service;
   *       `x-payment-info` marks the operations that must be paid, with their payment methods. The 402 response itself is authoritative.
   */
  router.get(
    '/openapi.json',
    endpoint({ auth: 'none', bare: true, answers: UNCHANGED }, async () => new Reply({ headers, ...(await read()) })),
  );
  return router;
}

/** Routes of the API explorer (web pages that show the OpenAPI document) under `/swagger`. */
export function explorerRoutes(): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /swagger/doc.json:
   *   get:
   *     operationId: getDocument
   *     tags: [Service]
   *     summary: OpenAPI document
   *     description: The OpenAPI 3.1 definition of all operations.
   */
  router.get(
    '/swagger/doc.json',
    endpoint({ auth: 'none', bare: true, answers: UNCHANGED }, serve('doc.json', 'no-cache')),
  );

  /**
   * @openapi
   * /swagger/index.html:
   *   get:
   *     operationId: openExplorer
   *     tags: [Service]
   *     summary: API explorer
   *     description: >-
   *       Interactive page for trying out every operation, the Merchant API first; `/swagger/console.html` has the Console API. The page
   *       loads no third-party resources.
   */
  router.get(
    '/swagger/index.html',
    endpoint({ auth: 'none', raw: 'html', answers: UNCHANGED }, serve('index.html', 'no-cache')),
  );
  router.get(
    '/swagger',
    endpoint(asset, () => new Reply({ status: 302, headers: { location: '/swagger/index.html' }, body: '' })),
  );
  router.get('/swagger/console.html', endpoint({ ...asset, raw: 'html' }, serve('console.html', 'no-cache')));
  for (const name of ['merchant.js', 'merchant.json', 'console.js', 'console.json', 'explorer.css'] as const)
    router.get(`/swagger/${name}`, endpoint(asset, serve(name, 'no-cache')));
  for (const name of swaggerAssets)
    router.get(`/swagger/${name}`, endpoint(asset, serve(name, 'public, max-age=3600')));
  return router;
}

const asset = { auth: 'none', raw: 'stream', hidden: true } as const;

function serve(name: ExplorerFile, caching: string): () => Promise<Reply> {
  const read = once(() => readExplorerFile(name));
  const headers = {
    'content-type': explorerFiles[name],
    'content-security-policy': explorerPolicy,
    'cache-control': caching,
  };
  return async () => new Reply({ headers, ...(await read()) });
}

/** Joins the route groups in one router. If enabled, adds the API explorer, which describes them. */
export function buildRouter(groups: readonly RouteGroup[], explorer: { enabled: boolean }): RouteGroup {
  return joinGroups(explorer.enabled ? [...groups, explorerRoutes(), discoveryRoutes()] : groups);
}
