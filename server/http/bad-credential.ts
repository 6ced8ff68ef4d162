import { addressBlock } from '../addresses/block.ts';
import { TooManyRequests, Unauthenticated } from '../errors.ts';
import type { EdgeContext } from './edge.ts';
import { setRateLimitHeaders } from './rate-limit.ts';

/**
 * Counts a wrong credential against its address and passes the refusal on; beyond the limit it becomes a 429.
 * Only failures are counted, so a right credential costs no query and never suffers from a neighbour's mistakes.
 */
export async function refuseBadCredential(ctx: EdgeContext, error: unknown): Promise<never> {
  const limit = ctx.edge.badCredentialsPerMinute;
  if (error instanceof Unauthenticated && limit > 0) {
    const quota = await ctx.edge.rateLimits.consume(`bad-credential:${addressBlock(ctx.state.ip)}`, limit, 60);
    if (quota.allowed) throw error;
    setRateLimitHeaders(ctx, quota, 60);
    throw new TooManyRequests('Too many failed authentication attempts from this IP address.', quota.resetSeconds);
  }
  throw error;
}
