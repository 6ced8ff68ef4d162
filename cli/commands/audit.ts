import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../errors.ts';
import { examples } from '../options.ts';
import { withSpinner } from '../spinner.ts';
import type { Row, View } from '../values.ts';
import type { ContextOf } from './index.ts';

const VIEW: View = {
  noun: 'check',
  id: 'check',
  columns: [{ field: 'check', kind: 'id' }, { field: 'ok', kind: 'yesno' }, { field: 'count' }, { field: 'promise' }],
};

/** Adds `audit`. */
export function define(command: Command, context: ContextOf): void {
  command.description(
    'Prove the books: orders, refunds, coin ledgers, events and the audit log. Exit 1 when a promise is broken.',
  );
  examples(command, 'payctl audit', 'payctl audit --json').action(() => run(context()));
}

/** Prints every promise with the number of rows that break it. */
export async function run({ api, print, terminal }: Context): Promise<void> {
  const report = await withSpinner(terminal.err, 'Proving the books', () => api.get('/api/v1/books'));
  const checks = (report['proofs'] ?? []) as Row[];
  await print.list(checks, VIEW);
  const broken = checks.filter((check) => check['ok'] === false);
  const [first] = broken;
  if (!first) return;
  const [example] = (first['examples'] ?? []) as Row[];
  const words = example ? ` (${String(example['id'])}: ${String(example['detail'])})` : '';
  throw new CliError(
    'books_broken',
    EXIT.failed,
    `${broken.length} of ${checks.length} promises are broken; first: ${String(first['check'])}${words}.`,
    { hint: 'payctl audit --json' },
  );
}
