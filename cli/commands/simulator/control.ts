import type { Command } from 'commander';
import type { ApiClient } from '../../api-client.ts';
import type { Context } from '../../context.ts';
import { choice } from '../../options.ts';

/** Where the simulator listens by default. */
export const DEFAULT_SIMULATOR = 'http://127.0.0.1:8081';

/** The flag that names the simulator. */
export interface SimulatorFlags {
  simulator?: string;
}

/** Adds --simulator. */
export function simulatorFlag(command: Command): Command {
  return command.option(
    '--simulator <url>',
    `URL of the simulator; by default PAYCTL_SIMULATOR or ${DEFAULT_SIMULATOR}`,
  );
}

/** Adds --pay-way. */
export function channelFlag(command: Command): Command {
  return command.addOption(
    choice('--pay-way <channel>', 'channel, if several have this order number', ['alipay', 'wechat', 'paypal']),
  );
}

/** Talks to the simulator; no credential ever goes there. */
export function simulatorApi({ apiAt, terminal }: Context, flags: SimulatorFlags): ApiClient {
  return apiAt(flags.simulator ?? terminal.env['PAYCTL_SIMULATOR'] ?? DEFAULT_SIMULATOR);
}
