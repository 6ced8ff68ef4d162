import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { choice, examples, given } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { PAY_WAYS } from '../channel/view.ts';
import { CERTS, KINDS, VIEW } from './view.ts';

/** The flags of `cert list`. */
export type ListFlags = Row & { project?: string };

/** Adds `cert list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun.command('list').description('List certificates and keys with the days until they expire.'),
  );
  command
    .addOption(choice('--pay-way <channel>', 'filter by channel', PAY_WAYS))
    .addOption(choice('--kind <kind>', 'filter by kind', KINDS));
  examples(command, 'payctl cert list', 'payctl cert list --pay-way wechat --fields kind,daysLeft,serialNumber').action(
    (flags: ListFlags) => run(context(), flags),
  );
}

/** Prints the certificates. */
export async function run(context: Context, flags: ListFlags): Promise<void> {
  await context.print.list(await findCerts(context, flags), VIEW);
}

/** One certificate of a project; throws when there is none. */
export async function findCert(context: Context, id: string, flags: { project?: string }): Promise<Row> {
  const { project } = flags;
  const row = (await findCerts(context, project === undefined ? {} : { project })).find((cert) => cert['id'] === id);
  if (row) return row;
  throw new CliError('not_found', EXIT.notFound, `Certificate ${id} not found.`, { hint: 'payctl cert list' });
}

/** The certificates that match; the contract lists them by POST. */
export async function findCerts({ api }: Context, flags: ListFlags): Promise<Row[]> {
  const query = flags.project === undefined ? {} : { project: flags.project };
  const { body } = await api.call({
    method: 'POST',
    path: `${CERTS}/list`,
    query,
    body: given(flags, ['payWay', 'kind']),
  });
  return ((body as { data?: Row[] } | undefined)?.data ?? []).filter((row) => typeof row === 'object');
}
