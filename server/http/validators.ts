import { hash } from 'node:crypto';
import type { EdgeMiddleware } from './edge.ts';

/** Tags of bodies with which many are answered. */
const known = new WeakMap<Buffer, string>();

/**
 * Gives what a client may keep an entity tag, and answers 304 without a body when the client has it (RFC 9110 §8.8.3, §13.1.2). It
 * stands behind everything that changes a body.
 */
export const validate: EdgeMiddleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  if (ctx.status !== 200 || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  const caching = ctx.res.getHeader('Cache-Control');
  if (caching === undefined || String(caching).includes('no-store')) return;
  const tag = typeof body === 'string' ? tagOf(body) : tagOfBuffer(body);
  ctx.set('ETag', tag);
  if ((ctx.method === 'GET' || ctx.method === 'HEAD') && names(ctx.get('If-None-Match'), tag)) ctx.status = 304;
};

/** Not Koa's `fresh`: it takes the `Cache-Control: no-cache` that `fetch` adds for a wish to have it once more. */
function names(condition: string, tag: string): boolean {
  return condition.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

function tagOfBuffer(body: Buffer): string {
  const tag = known.get(body) ?? tagOf(body);
  known.set(body, tag);
  return tag;
}

/** Of what is sent, so each encoding of a file has its own. */
function tagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}
