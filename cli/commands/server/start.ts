import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { offlineFlags, translate, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { bannerOf } from './banner.ts';

/** Adds `server start`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('start')
      .description(
        'Run the service until it is stopped (SIGTERM, Ctrl-C). Logs go to stdout: as JSON lines, or as text on a terminal (Log.Format).',
      ),
  );
  examples(command, 'payctl server start', 'payctl server start --config /etc/pay/pay.toml').action(
    (flags: OfflineFlags) => run(context(), flags),
  );
}

/** Starts the service; comes back when it has stopped. */
export async function run(context: Context, flags: OfflineFlags): Promise<void> {
  const { out } = context.terminal;
  const start = context.startServer ?? (await import('../../../server/main.ts')).startServer;
  try {
    await start({
      env: context.terminal.env,
      cwd: context.terminal.cwd,
      ...(flags.config ? { config: flags.config } : {}),
      ...(out.isTerminal && { tellReady: (facts) => void out.write(bannerOf(facts, out.style)) }),
    });
  } catch (error) {
    throw translate(error);
  }
}
