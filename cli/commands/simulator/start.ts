import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { offlineFlags, translate, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';

interface Address {
  host: string;
  port: number;
}

const CHANNELS = ['alipay', 'wechat', 'paypal'] as const;
type Roots = Partial<Record<(typeof CHANNELS)[number], Address>>;

/** The flags of `simulator start`. */
export interface StartFlags extends OfflineFlags {
  listen?: Address;
  dir?: string;
  root?: Roots;
}

/** Adds `simulator start`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('start')
      .description('Run the simulator of the three channels as a separate process, until Ctrl-C.')
      .option(
        '--listen <host:port>',
        'address to listen on; by default Simulator.Listen, or Simulator.Url of this machine',
        address,
      )
      .option('--dir <folder>', 'directory for its keys and ledger; by default Simulator.Dir')
      .option(
        '--root <channel=host:port>',
        'serve one channel at the root of another address, too, for clients that sign paths from /; can be repeated',
        addRoot,
      ),
  );
  examples(
    command,
    'payctl simulator start',
    'payctl simulator start --listen 127.0.0.1:9081 --dir /tmp/simulator',
    'payctl simulator start --root wechat=127.0.0.1:8082',
  ).action((flags: StartFlags) => run(context(), flags));
}

function addRoot(text: string, before: Roots = {}): Roots {
  const channel = CHANNELS.find((one) => text.startsWith(`${one}=`));
  if (!channel) throw new InvalidArgumentError('Expected channel=host:port, e.g. wechat=127.0.0.1:8082.');
  return { ...before, [channel]: address(text.slice(channel.length + 1)) };
}

function address(text: string): Address {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  if (!match?.[1] || Number(match[2]) > 65_535)
    throw new InvalidArgumentError('Expected host:port, e.g. 127.0.0.1:8081.');
  return { host: match[1].replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}

/** Starts the simulator; comes back when it has stopped. */
export async function run({ terminal, runSimulator }: Context, flags: StartFlags): Promise<void> {
  const start = runSimulator ?? (await import('../../../server/simulator/simulator.ts')).runSimulator;
  const { env, cwd } = terminal;
  const { loadSimulator } = await import('../../../config/load.ts');
  try {
    const configured = loadSimulator({ argv: flags.config ? { config: flags.config } : {}, env, cwd });
    const { listen = configured.listen, dir = configured.dir } = flags;
    await start(
      { dir: resolve(cwd, dir), listen, roots: flags.root ?? {} },
      (url) => void terminal.out.write(announce(url, terminal.out.isTerminal)),
    );
  } catch (error) {
    throw translate(error);
  }
}

/** For a person, or one JSON line for a program. */
function announce(url: string, isTerminal: boolean): string {
  return isTerminal ? `  Simulator  ${url}\n  Stop       Ctrl-C\n` : `${JSON.stringify({ simulator: url })}\n`;
}
