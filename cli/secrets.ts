import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError, EXIT, SECRET_LOST, UsageError, codeOf } from './errors.ts';
import { readTextFile, reserveFile, textFrom, type ReservedFile } from './files.ts';
import type { Print } from './output.ts';
import type { Prompts } from './prompts.ts';
import type { Terminal } from './terminal.ts';
import { plain, widest, type Row, type View } from './values.ts';
import { writeFault } from './whole-write.ts';
import { padTo } from './terminal-text.ts';
import { quoted } from './installation.ts';

const MOST_BYTES = 64 * 1024;

/** Removes the final line break of a secret. Throws if the secret is empty. */
export function readSecretText(text: string, source: string): string {
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new UsageError(`${source} is empty; a secret is required.`, undefined, 'secret_empty');
  return secret;
}

/** Reads a secret from a file. `hint` is the advice if the file does not exist. */
export async function readSecretFile(terminal: Terminal, path: string, hint?: string): Promise<string> {
  const text = await readTextFile(resolve(terminal.cwd, path), path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new UsageError(`The file ${path} does not exist.`, hint, 'file_not_found');
  });
  return readSecretText(text, path);
}

/**
 * Reads the secret of an application from a file: the secret alone, or the output of `app create` with -o env or -o
 * json, which has the client id, too. Throws UsageError for the secret of another application than `clientId`.
 */
export async function readClientFile(
  terminal: Terminal,
  path: string,
  clientId?: string,
): Promise<{ secret: string; clientId: string | undefined }> {
  const hint = `payctl app create --secret-file ${quoted(path)}\nAn administrator of the service makes the file. For an existing application: payctl app rotate-secret ${clientId ?? 'CLIENT_ID'} --secret-file ${quoted(path)}`;
  const text = await readSecretFile(terminal, path, hint);
  const found = credentialsIn(text);
  if (clientId !== undefined && found.client_id && found.client_id !== clientId)
    throw new UsageError(
      `${path} has the secret of ${found.client_id}, not of ${clientId}.`,
      'choose the file of this application, or omit the client id',
      'secret_of_another_app',
    );
  const secret = found.client_secret === undefined ? text : readSecretText(found.client_secret, path);
  return { secret, clientId: clientId ?? found.client_id };
}

const ASSIGNMENT = /^(?:export\s+)?(?:PAYCTL_)?(CLIENT_ID|CLIENT_SECRET)=(['"]?)(.*?)\2\s*$/gm;

function credentialsIn(text: string): { client_id?: string | undefined; client_secret?: string | undefined } {
  if (!text.trimStart().startsWith('{'))
    return Object.fromEntries(
      [...text.matchAll(ASSIGNMENT)].map(([, name = '', , value]) => [name.toLowerCase(), value]),
    );
  try {
    const row = JSON.parse(text) as Row;
    const textOf = (name: string) => (typeof row[name] === 'string' ? row[name] : undefined);
    return { client_id: textOf('client_id'), client_secret: textOf('client_secret') };
  } catch {
    return {};
  }
}

/** Reads a secret from stdin. Throws if stdin is a terminal, which would show the typed secret. */
export async function readSecretStdin(terminal: Terminal, flag: string): Promise<string> {
  if (terminal.stdin.isTTY)
    throw new UsageError(`${flag} requires piped input, but stdin is a terminal.`, `omit ${flag} to be prompted`);
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of terminal.stdin) {
    const bytes = Buffer.from(part as Buffer | string);
    size += bytes.length;
    if (size > MOST_BYTES) throw new UsageError('The input on stdin is too long for a secret.');
    parts.push(bytes);
  }
  return readSecretText(textFrom(Buffer.concat(parts), 'stdin'), 'stdin');
}

export interface PasswordFlags {
  passwordStdin?: boolean;
  passwordFile?: string;
}

/** Reads a password from stdin, a file or a hidden prompt. A new password must be typed twice. */
export async function takePassword(
  terminal: Terminal,
  prompts: Prompts,
  flags: PasswordFlags,
  ask: { message: string; isNew: boolean },
): Promise<string> {
  if (flags.passwordStdin && flags.passwordFile)
    throw new UsageError('--password-stdin and --password-file cannot be combined.');
  if (flags.passwordStdin) return readSecretStdin(terminal, '--password-stdin');
  if (flags.passwordFile) return readSecretFile(terminal, flags.passwordFile);
  const flag = '--password-stdin or --password-file';
  const password = await prompts.secret({
    message: ask.message,
    flag,
    validate: (answer) => answer !== '' || 'A password is required.',
  });
  if (!ask.isNew) return password;
  const again = await prompts.secret({ message: 'Repeat the password', flag });
  if (again !== password) throw new UsageError('The passwords do not match; nothing was changed.');
  return password;
}

/** The destination of a new secret, which is checked before the service creates the secret. */
export interface SecretSink {
  /** Writes the secret and prints the remaining fields. Throws `secret_lost` if the secret cannot be written. */
  deliver(row: Row, view: View, again: string): Promise<void>;
  /**
   * Writes the secret. On failure throws `secret_lost`; its hint is the command `again`, which creates another secret.
   */
  write(row: Row, view: View, again: string): Promise<void>;
  /** Prints the fields except the secret, unless `write` already printed them. */
  printRest(row: Row, view: View): Promise<void>;
  /** Removes the written secret if the service did not activate it. Possible only for a file. */
  withdraw(): Promise<void>;
  /** Releases reserved disk space that was not used. */
  discard(): Promise<void>;
}

/** Chooses the destination of a secret: --secret-file, -o json or env, or a terminal. Otherwise throws UsageError. */
export async function openSecretSink(
  { terminal, print, quiet }: { terminal: Terminal; print: Print; quiet: boolean },
  flags: { secretFile?: string | undefined },
  field: string,
  flag = '--secret-file',
): Promise<SecretSink> {
  if (flags.secretFile) {
    const path = resolve(terminal.cwd, flags.secretFile);
    return fileSink(await reserveFile(path), print, path, field);
  }
  const shown = !print.fields || print.fields.includes(field);
  if (!quiet && shown && print.json) return outputSink(terminal, (row, view) => print.item(row, view));
  if (!quiet && shown && print.format === 'env')
    return outputSink(terminal, (row, view) =>
      // A program needs only the id and the secret, so `-o env` omits the remaining fields.
      print.item(print.fields ? row : { [view.id]: row[view.id], [field]: row[field] }, view),
    );
  if (!quiet && !print.fields && print.format === 'table' && terminal.out.isTerminal)
    return outputSink(terminal, (row, view) => showBox({ terminal, print }, row, view, field));
  throw new UsageError(
    'The secret is shown only once, so payctl must write it to a file or print it as JSON or env.',
    `add ${flag} FILE, -o json or -o env`,
    'secret_destination_needed',
  );
}

/** If the reader has closed the pipe, the secret is lost. */
async function outputSink(terminal: Terminal, show: (row: Row, view: View) => Promise<void>): Promise<SecretSink> {
  const { reserveOutput } = await import('./reserved-output.ts');
  const reserved = await reserveOutput(terminal);
  const write: SecretSink['write'] = async (row, view, again) => {
    try {
      await show(row, view);
      reserved.settle();
    } catch (error) {
      throw secretLost(error, again);
    }
    if (terminal.out.closed) throw secretLost('the reader of stdout closed the pipe', again);
  };
  return {
    deliver: write,
    write,
    printRest: async () => {},
    withdraw: async () => {},
    discard: async () => reserved.release(),
  };
}

const WRITTEN: Readonly<Record<string, string>> = {
  password: 'The password was',
  recoveryCodes: 'The recovery codes were',
};

function fileSink(file: ReservedFile, print: Print, path: string, field: string): SecretSink {
  const write: SecretSink['write'] = async (row, _view, again) => {
    await file.commit(`${secretLines(row[field]).join('\n')}\n`).catch((error: unknown) => {
      throw secretLost(error, again);
    });
  };
  const printRest: SecretSink['printRest'] = async (row, view) => {
    await print.note(`${WRITTEN[field] ?? 'The secret was'} written to ${path} (mode 0600).`);
    const { [field]: _secret, ...rest } = row;
    await print.item(rest, view);
  };
  return {
    async deliver(row, view, again) {
      await write(row, view, again);
      await printRest(row, view);
    },
    write,
    printRest,
    withdraw: () => rm(path, { force: true }),
    discard: () => file.discard(),
  };
}

/** Creates the error for a secret that could not be written. */
export function secretLost(why: unknown, again: string): CliError {
  const reason = writeFault(why) ?? writeFault(causeOf(why)) ?? (why instanceof Error ? why.message : String(why));
  return new CliError(SECRET_LOST, EXIT.failed, `The new secret could not be written and is lost: ${reason}.`, {
    cause: why,
    hint: `create another secret: ${again}`,
  });
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

async function showBox(
  { terminal, print }: { terminal: Terminal; print: Print },
  row: Row,
  view: View,
  field: string,
): Promise<void> {
  const { [field]: secret, ...rest } = row;
  await print.item(rest, view);
  await terminal.out.write(
    `\n${box([`${field} (shown only once, store ${Array.isArray(secret) ? 'them' : 'it'} now)`, '', ...secretLines(secret)], terminal.out.columns)}\n`,
  );
}

function secretLines(secret: unknown): string[] {
  return Array.isArray(secret) ? secret.map(plain) : [plain(secret)];
}

function box(lines: readonly string[], columns: number): string {
  const inner = widest(lines);
  // A wrapped box cannot be copied, so a narrow terminal gets lines without a box.
  if (inner + 4 > columns) return `${lines.join('\n')}\n`;
  const bar = '─'.repeat(inner + 2);
  return [`┌${bar}┐`, ...lines.map((line) => `│ ${padTo(line, inner)} │`), `└${bar}┘`, ''].join('\n');
}
