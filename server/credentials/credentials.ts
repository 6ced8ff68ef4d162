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
  undecryptableChannels,
  watchExpiry,
} from './status.ts';
import { KeysOfOtherModes, leaveAllModes } from './other-modes.ts';
import type { PayWay, ProbeResult } from '../payments/channel.ts';
import type { Acting, CredentialPorts } from './ports.ts';
import { createEncryption, type MasterKey, type Encryption } from '../db/encryption.ts';
import { seedSimulatorConfigs } from './simulator-configs.ts';

interface CredentialParts extends Omit<CredentialPorts, 'encryption'> {
  masterKeys: readonly MasterKey[];
  log: HealthPorts['log'];
  called?: Called;
  /**
   * The clock for timestamps in the database that replicas compare with each other. `now` is the clock for calls to
   * channels.
   */
  written?: () => Date;
}

export interface Credentials {
  encryption: Encryption;
  channels: ConfiguredChannels;
  /** Stores the result of a received notification: why it was refused, or null if it was genuine. */
  noticed: Noticed['note'];
  configs: ChannelConfigs & {
    registerNotifications(acting: Acting, payWay: string): Promise<ProbeResult>;
    downloadCerts(acting: Acting, payWay: string): Promise<Download>;
  };
  certs: Certs;
  publicChannels(): Promise<PublicChannel[]>;
  undecryptableChannels(): Promise<{ project: string; payWay: PayWay }[]>;
  /**
   * Stores the simulator's configurations. Called when the service starts and when a project is created. If the
   * simulator is disabled, does nothing. Throws BesideLive if the database has live orders or live configurations.
   */
  seedSimulator(projects?: readonly string[]): Promise<void>;
  /**
   * Withdraws the trust in verification keys that belong to another mode than the current configuration. Called when
   * the service starts without the simulator. Throws KeysOfOtherModes if the database cannot be changed.
   */
  leaveModes(): Promise<void>;
  /** Runs the `certificate-expiry` job: returns the certificates in use that expire soon. */
  watchExpiry(): Promise<EndingCert[]>;
}

/** The actor of audit entries that are written while the service starts. */
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
    undecryptableChannels: () => undecryptableChannels(ports),
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
