import { addressBlock, addressNetwork } from '../addresses.ts';
import { TooManyRequests, Unauthenticated } from '../errors.ts';
import type { EdgeContext } from './edge.ts';
import { setRateLimitHeaders } from './rate-limit.ts';

/** How many times the limit of an address its network may fail. */
const NETWORK_TIMES = 10;

/**
 * Counts a wrong credential against its address and its network and passes the refusal on; beyond the limit it becomes a 429.
 * Only failures are counted, so a right credential costs no query and never suffers from a neighbour's mistakes.
 */
export async function refuseBadCredential(ctx: EdgeContext, error: unknown): Promise<never> {
  const limit = ctx.edge.badCredentialsPerMinute;
  if (error instanceof Unauthenticated && limit > 0) {
    const { ip } = ctx.state;
    const quotas = await Promise.all([
      ctx.edge.rateLimits.consume(`bad-credential:${addressBlock(ip)}`, limit, 60),
      ctx.edge.rateLimits.consume(`bad-credential-network:${addressNetwork(ip)}`, NETWORK_TIMES * limit, 60),
    ]);
    const quota = quotas.find(({ allowed }) => !allowed);
    if (!quota) throw error;
    setRateLimitHeaders(ctx, quota, 60);
    throw new TooManyRequests('Too many failed authentication attempts from this IP address.', quota.resetSeconds);
  }
  throw error;
}
