import { z } from 'zod';
import { isErrorCode } from '../error-codes/error-codes.ts';
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
  apiIndex,
  eventPage,
  eventPath,
  operationPage,
  operationPath,
} from '../pages/api-pages.ts';
import { ERROR_INDEX_MARK, errorArticle, errorIndex, errorWords } from '../pages/error-pages.ts';
import { GUIDES, type Guide, guidePage, guidePath } from '../pages/guides.ts';
import { LANGUAGES, type Language } from '../pages/language.ts';
import { Code } from './schemas/fields.ts';
import { Lang, languageHeaders, pageLanguage } from './schemas/language.ts';

interface GuideSettings {
  publicUrl: string;
  explorer: boolean;
}

/** The local address that the samples of the guides contain. `publicUrl` replaces it. */
const LAPTOP = 'http://127.0.0.1:8080';

/** Routes of the guides (documentation pages), of one page for each error code, and of the API reference of merchants. */
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

  router.get(
    '/docs/errors/:code',
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

  const api = once(async () => {
    const { body } = await readExplorerFile('merchant.json');
    return JSON.parse(body.toString('utf8')) as ApiDocument;
  });
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
  return router;

  async function pageOf({ slug, group, titles }: Guide, language: Language): Promise<string> {
    const text = Buffer.from((await readGuideFile(`${language}/${slug}.html`))!).toString('utf8');
    // Guides about running the service mean its own machine, where a proxy or payctl calls it.
    const here = group === 'run' ? LAPTOP : publicUrl;
    const article = text.replaceAll(LAPTOP, here).replace(ERROR_INDEX_MARK, () => errorIndex(language));
    return guidePage({ language, address: guidePath(slug), title: titles[language], slug, article, explorer });
  }
}

const EventType = z.string().max(64);

const htmlPage = { auth: 'none', query: z.object({ lang: Lang }), raw: 'html', hidden: true } as const;

function html(language: Language, body: string): Reply {
  const headers = {
    ...languageHeaders(language),
    'content-type': 'text/html; charset=utf-8',
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
