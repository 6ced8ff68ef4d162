import { CHANNEL_KINDS } from '../channels/registry.ts';
import { channelSerial } from '../channels/serials.ts';
import { channelTime } from '../channels/transport.ts';
import { createCredentials, type Credentials } from '../credentials/credentials.ts';
import type { Audit } from '../identity/audit.ts';
import type { RouteGroup } from '../http/router.ts';
import { channelConfigRoutes, ownChannelConfigRoutes, paymentChannelRoutes } from '../routes/channels.ts';
import { certRoutes, ownCertRoutes } from '../routes/certs.ts';
import type { Base } from './base.ts';
import type { Messages } from './messages.ts';

/** Configurations, certificates and the channels that are made from them. */
export interface ComposedCredentials extends Pick<
  Credentials,
  'channels' | 'noticed' | 'sealing' | 'seedSimulator' | 'leaveModes' | 'sealedChannels' | 'watchExpiry'
> {
  groups: RouteGroup[];
}

/** Assembles credentials. Channels sign by their own clock: `now` is the service's, which tests may put forward. */
export function composeCredentials(
  { config, store, now, log, simulatorUrl, figures }: Base,
  { audit, transportTo, download }: { audit: Audit } & Pick<Messages, 'transportTo' | 'download'>,
): ComposedCredentials {
  const credentials = createCredentials({
    store,
    kinds: CHANNEL_KINDS,
    audit,
    serialOf: channelSerial,
    transportTo,
    download,
    now: channelTime,
    written: now,
    simulatorUrl,
    publicUrl: config.server.publicUrl,
    simulated: config.simulated,
    purpose: config,
    masterKeys: config.security.masterKeys,
    log,
    called: figures.channelCalled,
  });
  const { configs, certs } = credentials;
  return {
    ...credentials,
    groups: [
      paymentChannelRoutes(credentials),
      channelConfigRoutes({ configs, now }),
      ownChannelConfigRoutes({ configs, now }),
      certRoutes({ certs, now }),
      ownCertRoutes({ certs, now }),
    ],
  };
}
