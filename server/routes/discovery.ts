import { UNCHANGED } from '../http/contract.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { explorerFiles, readExplorerFile } from '../http/explorer.ts';
import { once } from '../http/once.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';

/** Where agents look for what can be paid here (draft-payment-discovery-01). */
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
   *       The same document as `/swagger/doc.json`, where agents look for it: `x-service-info` says what the service is,
   *       `x-payment-info` which operations are paid for, and how. The 402 itself is authoritative.
   */
  router.get(
    '/openapi.json',
    endpoint({ auth: 'none', bare: true, answers: UNCHANGED }, async () => new Reply({ headers, ...(await read()) })),
  );
  return router;
}
