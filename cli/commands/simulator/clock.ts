import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { duration, examples } from '../../options.ts';
import { simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

const VIEW = { noun: 'clock', id: 'now', columns: [{ field: 'now' }] };

/** Adds `simulator clock` with `show` and `advance`. */
export function define(noun: Command, context: ContextOf): void {
  const clock = noun
    .command('clock')
    .description('Show or advance the simulator clock, which drives expiry and notifications.');
  const show = simulatorFlag(clock.command('show').description('Show the simulated time.'));
  examples(show, 'payctl simulator clock show', 'payctl simulator clock show --json').action((flags: SimulatorFlags) =>
    runShow(context(), flags),
  );
  const advance = simulatorFlag(
    clock
      .command('advance')
      .description('Advance the simulated time; everything that falls due is carried out.')
      .argument('<span>', 'duration, e.g. 90s, 15m, 2h or 7d', duration),
  );
  examples(advance, 'payctl simulator clock advance 2h', 'payctl simulator clock advance 7d --json').action(
    (span: number, flags: SimulatorFlags) => runAdvance(context(), span, flags),
  );
}

/** Prints the simulated time. */
export async function runShow(context: Context, flags: SimulatorFlags): Promise<void> {
  await context.print.item(await simulatorApi(context, flags).get('/sim/clock'), VIEW);
}

/** Moves the simulated time by whole seconds. */
export async function runAdvance(context: Context, advanceSeconds: number, flags: SimulatorFlags): Promise<void> {
  await context.print.item(
    await simulatorApi(context, flags).data({
      method: 'POST',
      path: '/sim/clock',
      body: { advanceSeconds },
      anonymous: true,
    }),
    VIEW,
  );
}
