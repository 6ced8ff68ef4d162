import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import helmet from 'koa-helmet';

/** Headers that every answer carries, as pairs. */
export type HeaderPairs = readonly (readonly [string, string])[];

/**
 * Lets koa-helmet answer one request that nobody sent, and keeps its headers: they are the same for every request.
 * Pages with scripts of their own (explorer, payer) set a wider policy.
 */
export async function securityHeaders(isHttps: boolean): Promise<HeaderPairs> {
  const policy = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
      },
    },
    strictTransportSecurity: isHttps && { maxAge: 31_536_000 },
    frameguard: { action: 'deny' },
    // For browsers and plug-ins of long ago; a 402 has to keep its headers below 4 KB.
    xssFilter: false,
    ieNoOpen: false,
    dnsPrefetchControl: false,
    permittedCrossDomainPolicies: false,
  });
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  await policy(new Koa().createContext(req, res), async () => {});
  return Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)]);
}
