import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { reserveFile } from '../../files.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { CERTS, CERT_ID } from './view.ts';

/** Adds `cert download`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('download')
    .description('Print a certificate or public key as PEM, or write it to a new file.')
    .argument('<id>')
    .option('--file <file>', 'write to a new file');
  examples(
    command,
    `payctl cert download ${CERT_ID} > app.crt`,
    `payctl cert download ${CERT_ID} --file app.crt`,
  ).action((id: string, flags: { file?: string }) => run(context(), id, flags));
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
    await print.done(`Wrote ${flags.file}.`);
  } finally {
    await file?.discard();
  }
}
