import { endpoint, Reply } from '../http/endpoint.ts';
import { explorerAssets, explorerPolicy, readAsset, renderExplorer } from '../http/explorer.ts';
import { once } from '../http/once.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';

/** The API explorer under `/swagger`; everything is made when it is first asked for, so that a start costs nothing. */
export function explorerRoutes(readDocument: () => Promise<unknown>): RouteGroup {
  const router = routeGroup('/swagger');
  const page = once(renderExplorer);
  const document = once(async () => Buffer.from(JSON.stringify(await readDocument())));

  /**
   * @openapi
   * /swagger/doc.json:
   *   get:
   *     tags: [Service]
   *     summary: OpenAPI document
   *     description: The OpenAPI 3.1 definition of all operations.
   */
  router.get(
    '/doc.json',
    endpoint({ auth: 'none', bare: true }, async () => new Reply({ headers: jsonType, body: await document() })),
  );

  /**
   * @openapi
   * /swagger/index.html:
   *   get:
   *     tags: [Service]
   *     summary: API explorer
   *     description: Interactive page for trying out every operation; loads no third-party resources.
   */
  router.get(
    '/index.html',
    endpoint({ auth: 'none', raw: 'html' }, async () => file('text/html; charset=utf-8', (await page()).html)),
  );
  router.get(
    '',
    endpoint(asset, () => new Reply({ status: 302, headers: { location: '/swagger/index.html' }, body: '' })),
  );
  router.get(
    '/explorer.js',
    endpoint(asset, async () => file('text/javascript; charset=utf-8', (await page()).script)),
  );
  router.get(
    '/explorer.css',
    endpoint(asset, async () => file('text/css; charset=utf-8', (await page()).style)),
  );
  for (const name of explorerAssets) {
    // One buffer for all who ask: a copy for each would wait in memory as long as they do not take it.
    const read = once(() => readAsset(name));
    router.get(
      `/${name}`,
      endpoint(asset, async () => {
        const { type, bytes } = await read();
        return file(type, bytes, 'public, max-age=3600');
      }),
    );
  }
  return router;
}

const asset = { auth: 'none', raw: 'stream', hidden: true } as const;
const jsonType = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' };

function file(type: string, body: string | Buffer, caching = 'no-cache'): Reply {
  return new Reply({
    headers: { 'content-type': type, 'content-security-policy': explorerPolicy, 'cache-control': caching },
    body,
  });
}
