import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../../../server/simulator/accounts.ts';
import { keepAccounts } from '../../../server/simulator/accounts.ts';
import { createCore, openCore } from '../../../server/simulator/core.ts';
import type { Deliver } from '../../../server/simulator/notification.ts';
import type { Core } from '../../../server/simulator/channel-simulator.ts';
import { CHANNEL_SIMULATORS } from '../../../server/simulator/simulator.ts';
import { type AskChannels, CHANNELS_URL, openDoor } from './channel-door.ts';

/** The accounts and keys that every world shares. */
export interface ChannelKeys extends Pick<Core, 'authority' | 'strangerKey'> {
  readonly accounts: readonly Account[];
}

const SETTINGS = { channelSimulators: CHANNEL_SIMULATORS, timeFactor: 1, clockOffset: 0, log: () => {} };

/** Creates the simulator's accounts and keys, once for all worlds of a process. */
export async function makeChannelKeys(): Promise<ChannelKeys> {
  const dir = mkdtempSync(join(tmpdir(), 'pay-seeds-'));
  try {
    const core = await openCore({ ...SETTINGS, dir });
    const accounts = CHANNEL_SIMULATORS.flatMap(({ payWay }) => [...core.accounts.of(payWay)]);
    const { authority, strangerKey } = core;
    core.close();
    return { authority, strangerKey, accounts };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The simulator of one world. */
export interface SimulatedChannels {
  readonly core: Core;
  readonly ask: AskChannels;
}

/** Opens channels without trades. */
export async function openChannels(
  { authority, strangerKey, accounts }: ChannelKeys,
  deliver: Deliver,
): Promise<SimulatedChannels> {
  const core = await createCore({
    ...SETTINGS,
    authority,
    strangerKey,
    accounts: keepAccounts(
      accounts.map((one) => ({ ...one, secrets: { ...one.secrets } })),
      () => {},
    ),
    openJournal: () => ({ append: () => {}, close: () => {} }),
    deliver,
    release: () => {},
  });
  core.url = CHANNELS_URL;
  return { core, ask: openDoor(core) };
}
