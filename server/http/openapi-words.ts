import { join } from 'node:path';
import type { Json } from './openapi-schemas.ts';

/** Words per path and method, as the `@openapi` comments above the routes have them. */
export type Words = Record<string, Record<string, Json>>;

/**
 * Reads the `@openapi` comments of the route files: `.ts` in a checkout, `.js` in a build (the compiler keeps comments).
 * swagger-jsdoc is loaded here and not before, it costs a tenth of a second. Throws when a comment is not valid YAML.
 */
export async function readWords(folder = join(import.meta.dirname, '..', 'routes')): Promise<Words> {
  const { default: swaggerJsdoc } = await import('swagger-jsdoc');
  const { paths } = swaggerJsdoc({
    failOnErrors: true,
    definition: { openapi: '3.1.0', info: { title: 'words', version: '0' } },
    apis: [join(folder, '**', '!(*.d).{ts,js}')],
  }) as { paths?: Words };
  return paths ?? {};
}
