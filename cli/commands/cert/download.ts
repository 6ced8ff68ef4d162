import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { reserveFile } from '../../files.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ContextOf } from '../index.ts';
import { CERTS } from './view.ts';

/** Adds `cert download`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('download')
    .description('Print the public part as PEM, or write it into a new file.')
    .argument('<id>')
    .option('--file <file>', 'write into this new file');
  examples(command, 'payctl cert download cert_1 > app.crt', 'payctl cert download cert_1 --file app.crt').action(
    (id: string, flags: { file?: string }) => run(context(), id, flags),
  );
}

/** Fetches the public part. */
export async function run({ api, terminal, print }: Context, id: string, flags: { file?: string }): Promise<void> {
  const file = flags.file ? await reserveFile(resolve(terminal.cwd, flags.file)) : undefined;
  try {
    const { text, body } = await api.call({
      method: 'POST',
      path: `${CERTS}/${segment(id)}/download`,
      headers: { accept: '*/*' },
    });
    const content = (body as { data?: { content?: string } } | undefined)?.data?.content ?? text;
    if (!file) return await terminal.out.write(content.endsWith('\n') ? content : `${content}\n`);
    await file.commit(content);
    await print.done(`Written into ${flags.file}.`);
  } finally {
    await file?.discard();
  }
}
