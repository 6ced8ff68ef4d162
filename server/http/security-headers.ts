import type { Context } from 'koa';
import helmet from 'koa-helmet';

/** Headers that every answer carries, as pairs. */
export type HeaderPairs = readonly (readonly [string, string])[];

/**
 * Asks koa-helmet once for the headers of an answer. They are the same for every request, so running its dozen steps
 * each time would only cost; pages with scripts of their own (explorer) set a wider policy.
 */
export async function securityHeaders(isHttps: boolean): Promise<HeaderPairs> {
  const headers = new Map<string, string>();
  const res = {
    setHeader: (name: string, value: unknown) => headers.set(name, String(value)),
    removeHeader: (name: string) => headers.delete(name),
  };
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
  });
  await policy({ req: {}, res } as unknown as Context, async () => {});
  return [...headers];
}
