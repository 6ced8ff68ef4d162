import type { Config } from '../../config/config.ts';
import { CHANNEL_KINDS } from '../channels/registry.ts';
import { channelSerial } from '../channels/serials.ts';
import type { createTransport } from '../channels/transport.ts';
import { createCredentials } from '../credentials/credentials.ts';
import type { ConfiguredChannels } from '../credentials/channels.ts';
import type { Sealing } from '../credentials/sealing.ts';
import type { Store } from '../db/store.ts';
import type { Audit } from '../identity/audit.ts';
import type { Ports } from '../payments/ports.ts';
import type { RouteGroup } from '../routes/index.ts';
import { paymentChannelRoutes } from '../routes/payment-channels.ts';
import { certRoutes } from '../routes/v1/certs.ts';
import { channelConfigRoutes } from '../routes/v1/channel-configs.ts';
import { ownCertRoutes } from '../routes/v2/certs.ts';
import { ownChannelConfigRoutes } from '../routes/v2/channel-configs.ts';

/** What credentials are assembled from. */
export interface CredentialParts {
  config: Config;
  store: Store;
  send: ReturnType<typeof createTransport>;
  now: () => Date;
  audit: Audit;
  simulatorUrl: string | null;
  log: Ports['log'];
}

/** Configurations, certificates and the channels that are made from them. */
export interface Credentials {
  channels: ConfiguredChannels;
  sealing: Sealing;
  groups: RouteGroup[];
  seedSimulator(): Promise<void>;
  watchExpiry(): Promise<void>;
  idle(): Promise<void>;
}

/** Assembles credentials. Channels sign with the real clock: `now` is the service's own, which tests may put forward. */
export function composeCredentials({
  config,
  store,
  send,
  now,
  audit,
  simulatorUrl,
  log,
}: CredentialParts): Credentials {
  const realNow = () => new Date();
  const { masterKeys } = config.security;
  const parts = {
    store,
    kinds: CHANNEL_KINDS,
    audit,
    serialOf: channelSerial,
    send,
    simulatorUrl,
    debug: config.debug,
  };
  const credentials = createCredentials({ ...parts, now: realNow, masterKeys, log });
  const { channels, sealing, configs, certs } = credentials;
  return {
    channels,
    sealing,
    groups: [
      paymentChannelRoutes({ publicChannels: credentials.publicChannels }),
      channelConfigRoutes({ configs, now }),
      ownChannelConfigRoutes({ configs, now }),
      certRoutes({ certs, now }),
      ownCertRoutes({ certs, now }),
    ],
    seedSimulator: () => credentials.seedSimulator(),
    watchExpiry: async () => void (await credentials.watchExpiry()),
    idle: () => channels.idle(),
  };
}
