import { UNCHANGED } from '../http/contract.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { type ExplorerFile, explorerFiles, explorerPolicy, readExplorerFile, swaggerAssets } from '../http/explorer.ts';
import { once } from '../http/once.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';

/** The API explorer under `/swagger`. */
export function explorerRoutes(): RouteGroup {
  const router = routeGroup('/swagger');

  /**
   * @openapi
   * /swagger/doc.json:
   *   get:
   *     operationId: getDocument
   *     tags: [Service]
   *     summary: OpenAPI document
   *     description: The OpenAPI 3.1 definition of all operations.
   */
  router.get('/doc.json', endpoint({ auth: 'none', bare: true, answers: UNCHANGED }, serve('doc.json', 'no-cache')));

  /**
   * @openapi
   * /swagger/index.html:
   *   get:
   *     operationId: openExplorer
   *     tags: [Service]
   *     summary: API explorer
   *     description: >-
   *       Interactive page for trying out every operation, the Merchant API first; `/swagger/console.html` has the Console API.
   *       Loads no third-party resources.
   */
  router.get(
    '/index.html',
    endpoint({ auth: 'none', raw: 'html', answers: UNCHANGED }, serve('index.html', 'no-cache')),
  );
  router.get(
    '',
    endpoint(asset, () => new Reply({ status: 302, headers: { location: '/swagger/index.html' }, body: '' })),
  );
  router.get('/console.html', endpoint({ ...asset, raw: 'html' }, serve('console.html', 'no-cache')));
  for (const name of ['merchant.js', 'merchant.json', 'console.js', 'console.json', 'explorer.css'] as const)
    router.get(`/${name}`, endpoint(asset, serve(name, 'no-cache')));
  for (const name of swaggerAssets) router.get(`/${name}`, endpoint(asset, serve(name, 'public, max-age=3600')));
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
