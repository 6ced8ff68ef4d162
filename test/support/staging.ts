import type { ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import type { ServiceOptions } from './service.ts';
import { ownSimulator } from './simulator.ts';

/** What a staging service is given: what production demands, and a simulator beside it. */
export async function stagingOptions(t: Pick<ExecutionContext, 'teardown'>): Promise<ServiceOptions> {
  const simulator = await ownSimulator(t);
  const env = {
    PAY_DEBUG: 'false',
    PAY_SERVER_ENVIRONMENT: 'staging',
    PAY_SERVER_PUBLIC_URL: 'https://staging.shop.example',
    PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
    PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
    PAY_SIMULATOR_URL: simulator.url,
    PAY_EXPLORER_ENABLED: 'true',
  };
  return { simulator, env };
}
