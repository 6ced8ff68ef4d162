import { createCerts, type Certs } from './certs.ts';
import { type Called, type ConfiguredChannels, type HealthPorts, createChannels } from './channels.ts';
import { type ChannelConfigs, createChannelConfigs, registerNotifications } from './configs.ts';
import { refuseBesideLive } from './live-guard.ts';
import { type Download, createFoundCerts, downloadCerts } from './download-certs.ts';
import {
  type EndingCert,
  type Noticed,
  type PublicChannel,
  createNoticed,
  publicChannels,
  encryptedChannels,
  watchExpiry,
} from './status.ts';
import { KeysOfOtherModes, leaveAllModes } from './other-modes.ts';
import type { PayWay, ProbeResult } from '../payments/channel.ts';
import type { Acting, CredentialPorts } from './ports.ts';
import { createEncryption, type MasterKey, type Encryption } from '../db/encryption.ts';
import { seedSimulatorConfigs } from './simulator-configs.ts';

/** What credentials are made of. */
interface CredentialParts extends Omit<CredentialPorts, 'encryption'> {
  masterKeys: readonly MasterKey[];
  log: HealthPorts['log'];
  /** Hears how each call of a channel ended. */
  called?: Called;
  /** Dates what processes compare with each other; `now` dates what channels compare with theirs. */
  written?: () => Date;
}

/** Everything that knows how a channel is called, and keeps what nobody may see. */
export interface Credentials {
  encryption: Encryption;
  channels: ConfiguredChannels;
  /** Keeps why notifications are refused; null = one was genuine. */
  noticed: Noticed['note'];
  configs: ChannelConfigs & {
    registerNotifications(acting: Acting, payWay: string): Promise<ProbeResult>;
    downloadCerts(acting: Acting, payWay: string): Promise<Download>;
  };
  certs: Certs;
  publicChannels(): Promise<PublicChannel[]>;
  /** Enabled channels that are down because their secrets do not open. */
  encryptedChannels(): Promise<{ project: string; payWay: PayWay }[]>;
  /**
   * At start, and for a project that was just made: where the simulator counts, throws BesideLive or stores its
   * configurations; elsewhere does nothing.
   */
  seedSimulator(projects?: readonly string[]): Promise<void>;
  /** At a start where the simulator does not count: distrusts the keys of other modes; throws KeysOfOtherModes when that cannot be written. */
  leaveModes(): Promise<void>;
  /** The `certificate-expiry` job. */
  watchExpiry(): Promise<EndingCert[]>;
}

/** The actor in audit lines of a start. */
const STARTING = { kind: 'system', name: 'start' } as const;

/** Assembles credentials. */
export function createCredentials({ masterKeys, log, called, written, ...parts }: CredentialParts): Credentials {
  const encryption = createEncryption(masterKeys);
  const ports: CredentialPorts = { ...parts, encryption };
  const seedSimulator = async (projects?: readonly string[]): Promise<void> => {
    if (!ports.simulated) return;
    await refuseBesideLive(ports.store, ports.purpose);
    await seedSimulatorConfigs(ports, projects);
  };
  const seedProject = (project: string) => seedSimulator([project]);
  const found = createFoundCerts({ ...ports, log });
  const opened = { decrypt: encryption.open, seedProject, log, called, keepFound: found.keep };
  const noticed = createNoticed({ store: ports.store, now: written ?? ports.now, log });
  const channels = createChannels({ ...ports, ...opened });
  return {
    encryption,
    channels: {
      ...channels,
      idle: async () => void (await Promise.all([channels.idle(), found.idle(), noticed.idle()])),
    },
    noticed: noticed.note,
    configs: {
      ...createChannelConfigs(ports, channels),
      registerNotifications: (acting, payWay) => registerNotifications(ports, acting, payWay),
      downloadCerts: (acting, payWay) => downloadCerts(ports, acting, payWay),
    },
    certs: createCerts(ports),
    publicChannels: () => publicChannels(ports),
    encryptedChannels: () => encryptedChannels(ports),
    seedSimulator,
    async leaveModes() {
      if (ports.simulated) return;
      try {
        for (const { id: certId, project, payWay, kind, mode } of await leaveAllModes(ports, STARTING))
          log('warn', 'a key of another mode is trusted no more', { project, payWay, certId, kind, mode });
      } catch (error) {
        throw new KeysOfOtherModes(error);
      }
    },
    watchExpiry: () => watchExpiry({ ...ports, log }),
  };
}
