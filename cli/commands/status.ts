import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT } from '../errors.ts';
import { startService } from '../hints.ts';
import { english } from '../language.ts';
import { examples } from '../options.ts';
import type { Row, View } from '../values.ts';
import { watch, watchFlags, type WatchFlags } from '../watch.ts';

const VIEW: View = {
  noun: 'part',
  id: 'part',
  columns: [
    { field: 'part', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'mode' },
    { field: 'lastSuccessAt', kind: 'time' },
    { field: 'detail' },
  ],
};

/** Defines `payctl status`. */
export function define(command: Command, context: ContextOf): void {
  examples(
    watchFlags(
      command.description(
        'Check the service, its database and its channels. Exits with 1 if one of them is down. No login required.',
      ),
    ),
    'payctl status',
    'payctl status --json',
    'payctl status --server http://127.0.0.1:8080 --fields part,status',
    'payctl status --watch --count 1',
  ).action((flags: WatchFlags) => run(context(), flags));
}

async function run(context: Context, flags: WatchFlags = {}): Promise<void> {
  // The age of a channel's last response is not compared, because it changes with every poll.
  const comparedPart = ({ part, status, mode, detail }: Row) => [part, status, mode, detail];
  if (flags.watch)
    return watch(context, flags, { view: VIEW, poll: async () => (await poll(context)).rows, comparedPart });
  const { print } = context;
  const { rows, reached } = await poll(context);
  await print.list(rows, VIEW);
  const down = rows.filter((row) => row['status'] === 'down');
  if (!reached)
    throw new CliError('unreachable', EXIT.tryAgain, String(rows[0]?.['detail']), {
      hint: english(startService(await context.target(), context)),
    });
  if (down.length > 0)
    throw new CliError('unhealthy', EXIT.failed, `Down: ${down.map((row) => row['part']).join(', ')}.`);
}

async function poll({ api, target }: Context): Promise<{ rows: Row[]; reached: boolean }> {
  const { server } = await target();
  const service = await probe('service', () => api.call({ method: 'GET', path: '/health', anonymous: true }));
  const reached = service['status'] === 'up' || service['httpStatus'] !== null;
  const others = reached
    ? await Promise.all([
        probe('database', () => api.call({ method: 'GET', path: '/health/db', anonymous: true })),
        channels(api),
      ])
    : [];
  return { rows: [{ ...service, detail: service['detail'] ?? server }, ...others.flat()], reached };
}

async function probe(part: string, ask: () => Promise<unknown>): Promise<Row> {
  try {
    await ask();
    return { part, status: 'up', mode: null, lastSuccessAt: null, detail: null, httpStatus: 200 };
  } catch (error) {
    const status = error instanceof CliError ? (error.options.status ?? null) : null;
    return {
      part,
      status: 'down',
      mode: null,
      lastSuccessAt: null,
      detail: error instanceof Error ? error.message : String(error),
      httpStatus: status,
    };
  }
}

async function channels(api: Context['api']): Promise<Row[]> {
  try {
    const { body } = await api.call({ method: 'GET', path: '/api/v1/payment/channels', anonymous: true });
    const rows = (body as { data?: Row[] } | undefined)?.data ?? [];
    return rows.map((row) => ({
      part: row['payWay'],
      status: row['status'],
      mode: row['mode'],
      lastSuccessAt: row['lastSuccessAt'],
      detail: null,
      httpStatus: 200,
    }));
  } catch (error) {
    return [
      {
        part: 'channels',
        status: 'down',
        mode: null,
        lastSuccessAt: null,
        detail: error instanceof Error ? error.message : String(error),
        httpStatus: null,
      },
    ];
  }
}
