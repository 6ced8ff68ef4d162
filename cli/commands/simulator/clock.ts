import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { duration, examples } from '../../options.ts';
import type { ContextOf } from '../index.ts';
import { simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

const VIEW = { noun: 'clock', id: 'now', columns: [{ field: 'now' }] };

/** Adds `simulator clock` with `show` and `advance`. */
export function define(noun: Command, context: ContextOf): void {
  const clock = noun.command('clock').description("The simulator's clock: expiry and notices follow it.");
  const show = simulatorFlag(clock.command('show').description('Show its time.'));
  examples(show, 'payctl simulator clock show', 'payctl simulator clock show --json').action((flags: SimulatorFlags) =>
    runShow(context(), flags),
  );
  const advance = simulatorFlag(
    clock
      .command('advance')
      .description('Move it forward; everything that falls due happens.')
      .argument('<span>', 'like 90s, 15m, 2h, 7d', duration),
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
