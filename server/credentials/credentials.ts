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

/** What `createCredentials` needs from the other folders. */
interface CredentialParts extends Omit<CredentialPorts, 'encryption'> {
  masterKeys: readonly MasterKey[];
  log: HealthPorts['log'];
  /** Receives the outcome of every channel call. */
  called?: Called;
  /** The clock of timestamps that replicas compare with each other. `now` is the clock for calls to channels. */
  written?: () => Date;
}

/** Channel configurations, certificates and keys, with their encrypted secrets, and the channels that are built from them. */
export interface Credentials {
  encryption: Encryption;
  channels: ConfiguredChannels;
  /** Stores why a notification was refused; null = it was genuine. */
  noticed: Noticed['note'];
  configs: ChannelConfigs & {
    registerNotifications(acting: Acting, payWay: string): Promise<ProbeResult>;
    downloadCerts(acting: Acting, payWay: string): Promise<Download>;
  };
  certs: Certs;
  publicChannels(): Promise<PublicChannel[]>;
  /** Enabled channels that are down because their secrets cannot be decrypted. */
  encryptedChannels(): Promise<{ project: string; payWay: PayWay }[]>;
  /**
   * For a start and for a new project. If the simulator is used, stores its configurations, or throws BesideLive.
   * Otherwise does nothing.
   */
  seedSimulator(projects?: readonly string[]): Promise<void>;
  /**
   * For a start without the simulator: withdraws trust from verification keys of other modes. Throws KeysOfOtherModes
   * if that cannot be written.
   */
  leaveModes(): Promise<void>;
  /** The `certificate-expiry` job. */
  watchExpiry(): Promise<EndingCert[]>;
}

/** The actor of audit entries at start. */
const STARTING = { kind: 'system', name: 'start' } as const;

/** Creates the operations on channel configurations, certificates and keys, and the channels for payments. */
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
          log('warn', 'a key of another mode is no longer trusted', { project, payWay, certId, kind, mode });
      } catch (error) {
        throw new KeysOfOtherModes(error);
      }
    },
    watchExpiry: () => watchExpiry({ ...ports, log }),
  };
}
