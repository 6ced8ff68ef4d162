import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import type { StreamedBody } from '../../http.ts';
import { changes, examples } from '../../options.ts';
import { addFields, bodyOf, complete } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { progressBar } from '../../spinner.ts';
import type { Row } from '../../values.ts';
import { advised } from './faults.ts';
import { finish, waitFlags, type WaitFlags } from './follow.ts';
import { BILLS, WHICH } from './view.ts';

/** The flags of `bill import`. */
export type ImportFlags = Row & ChangeFlags & WaitFlags;

/** A bill of a million lines is read for a minute before the answer comes. */
const SILENCE_MS = 600_000;

/** Adds `bill import`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('import')
    .description(
      'Import a bill that was downloaded from a channel, as it is: zip, gzip, CSV or JSON. A file that is not that bill is refused whole; the same file again changes nothing.',
    )
    .argument('<file>');
  addFields(command, WHICH);
  examples(
    changes(waitFlags(command)),
    'payctl bill import wechat.csv --pay-way wechat --date 2026-11-20',
    'payctl bill import alipay.zip --pay-way alipay --date 2026-11-20 --account 2021004100000001 --json',
  ).action((file: string, options: ImportFlags) => run(context(), file, options));
}

/** Sends the file while it is read, and waits until it is compared. */
export async function run(context: Context, file: string, options: ImportFlags): Promise<void> {
  const { terminal, change, flags } = context;
  const query = (await complete(context, WHICH, bodyOf(options, WHICH))) as Query;
  let tell = (_sent: number): void => {};
  const content = await bodyOfFile(resolve(terminal.cwd, file), (sent) => tell(sent));
  const begun = await change(
    {
      what: `import ${basename(file)}`,
      method: 'POST',
      path: `${BILLS}/import`,
      query,
      raw: { type: 'application/octet-stream', content },
      shown: { name: basename(file), bytes: content.length },
      silenceMs: flags.timeout === undefined ? SILENCE_MS : flags.timeout * 1000,
      progress: (spinner) => {
        tell = (sent) => (spinner.text = progress(basename(file), sent, content.length));
      },
    },
    options,
  ).catch((error: unknown) => {
    throw advised(error);
  });
  if (begun) await finish(context, begun, options);
}

function progress(name: string, sent: number, all: number): string {
  if (sent >= all) return `Sent ${name}; the service reads it …`;
  return `${progressBar(sent, all)}  ${megabytes(sent)} of ${megabytes(all)} MB  ${name}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** A file as a body; it is read in parts, so its size does not matter. */
async function bodyOfFile(path: string, sent: (bytes: number) => void): Promise<StreamedBody> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError('file_not_found', EXIT.usage, `Cannot read ${path}.`, { cause: error });
  });
  if (!found.isFile()) throw new UsageError(`${path} is not a file.`);
  if (found.size === 0) throw new UsageError(`${path} is empty.`);
  return { length: found.size, open: () => partsOf(path, found.size, sent) };
}

async function* partsOf(path: string, size: number, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let sent = 0;
  try {
    for await (const part of createReadStream(path, { end: size - 1 }) as AsyncIterable<Buffer>) {
      yield part;
      sent += part.length;
      tell(sent);
    }
  } catch (error) {
    throw new CliError('file_unreadable', EXIT.failed, `${path} cannot be read.`, { cause: error });
  }
  if (sent < size) throw new CliError('file_changed', EXIT.failed, `${path} was changed while it was sent.`);
}
