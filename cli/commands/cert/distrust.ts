import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import { confirmChange } from '../../safety.ts';
import { run, type TrustFlags } from './trust.ts';
import { CERT_ID } from './view.ts';

/** The flags of `cert distrust`. */
export type DistrustFlags = TrustFlags & OfflineFlags & { offline?: boolean };

const OTHER_MODES = {
  noun: 'cert',
  id: 'id',
  columns: [{ field: 'id' }, { field: 'kind' }, { field: 'mode' }, { field: 'payWay' }, { field: 'project' }],
};

/** Adds `cert distrust`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('distrust')
      .description(
        'Verify nothing with a certificate or key from now on, on every instance. Always possible, also while orders are in flight. With --offline and without an id: distrust, in the database, the keys of another mode than their channel is in, such as those that the simulator brought.',
      )
      .argument('[id]'),
  );
  command.option('--offline', 'change the database directly, for when the service does not start');
  examples(
    changes(offlineFlags(command)),
    `payctl cert distrust ${CERT_ID}`,
    `payctl cert distrust ${CERT_ID} -y`,
    'payctl cert distrust --offline',
  ).action((id: string | undefined, flags: DistrustFlags) => runEither(context(), id, flags));
}

async function runEither(context: Context, id: string | undefined, flags: DistrustFlags): Promise<void> {
  if (flags.offline && id === undefined) return otherModes(context, flags);
  if (flags.offline || id === undefined)
    throw new UsageError('Give the id of a certificate or key, or --offline for all keys of other modes.');
  return run(context, id, flags, 'distrust');
}

/** Distrusts in the database what a start of the service would, and names it. */
async function otherModes(context: Context, flags: DistrustFlags): Promise<void> {
  await withOffline(context, flags, async (offline) => {
    const { name, place } = await prepareDatabase(context, offline, flags);
    if (flags.dryRun) return context.print.item({ dryRun: true, place }, OTHER_MODES);
    const change = { what: 'distrust the keys of other modes', risk: 'moderate', name } as const;
    await confirmChange(context.prompts, change, flags, place);
    const { keys } = await offline.distrustOtherModes({ actor: actor() });
    await context.print.list(
      keys.map((key) => ({ ...key })),
      OTHER_MODES,
    );
    await context.print.done(`${keys.length} keys of other modes are trusted no more.`);
  });
}
