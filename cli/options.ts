import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Row } from './values.ts';

/** Splits a comma-separated list, e.g. `a,b`, and removes the spaces around each item. */
export function list(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InvalidArgumentError('Expected a comma-separated list like a,b.');
  return items;
}

/** Creates a parser for integers between two bounds. */
export function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`Expected an integer from ${least} to ${most}.`);
    return value;
  };
}

/** Validates an amount in major units. The text is kept, because a JavaScript number would lose digits. */
export function amount(text: string): string {
  if (!/^\d{1,9}(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Expected an amount in major units, like 12.34.');
  return text;
}

/** Parses the payment code from the payer's app, with or without spaces. */
export function payCode(text: string): string {
  const digits = text.replaceAll(' ', '');
  if (!/^\d{16,24}$/.test(digits)) throw new InvalidArgumentError('Expected the 16 to 24 digits of the payment code.');
  return digits;
}

/** Parses the number of seconds between two polls, at most 60. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 60)) throw new InvalidArgumentError('Expected a number of seconds, at most 60.');
  return value;
}

/** Parses a calendar day, e.g. `2026-01-31`. */
export function day(text: string): string {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (!at || Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text))
    throw new InvalidArgumentError('Expected a day like 2026-01-31.');
  return text;
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Converts a duration (`90`, `90s`, `15m`, `2h`, `7d`) to seconds. */
export function duration(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text);
  if (!match) throw new InvalidArgumentError('Expected a duration like 90s, 15m, 2h or 7d.');
  return Number(match[1]) * (UNITS[match[2] || 's'] ?? 1);
}

/** Parses a time: RFC 3339, a date, or a duration before now (`2h` = two hours ago). */
export function instant(text: string): string {
  if (/^\d{1,9}[smhd]$/.test(text)) return new Date(Date.now() - duration(text) * 1000).toISOString();
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : undefined;
  if (!at || Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('Expected a time like 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago.');
  return at.toISOString();
}

/** Parses the value of a flag as JSON. Throws InvalidArgumentError if the value is not valid JSON. */
export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('Expected valid JSON.');
  }
}

/** Parses the value of a flag that must be `true` or `false`. */
export function truth(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('Expected true or false.');
  return text === 'true';
}

/** Creates an option with fixed choices. */
export function choice(flags: string, help: string, words: readonly string[]): Option {
  return new Option(flags, help).choices(words);
}

/** Adds the flags of a command that changes data, e.g. --dry-run, and with `money` --idempotency-key. */
export function changes(command: Command, kind: { money?: boolean } = {}): Command {
  command
    .option('-y, --yes', 'skip the confirmation prompt')
    .option('--confirm <name>', 'confirm a high-risk change by its name');
  command.option('--dry-run', 'print the request without sending it');
  addConfirmationFlags(command);
  if (kind.money)
    command.option('--idempotency-key <key>', 'key of an earlier attempt; a retry with the same key never runs twice');
  return command;
}

/** The flag for the operator's password, in commands whose `--password-file` is the password of another account. */
export const OWN_PASSWORD = '--own-password-file';

/** The flags are hidden from help, because every changing command has them. `payctl help secrets` describes them. */
function addConfirmationFlags(command: Command): void {
  const has = (long: string) => command.options.some((option) => option.long === long);
  const own = has('--password-file') ? OWN_PASSWORD : '--password-file';
  const flags = [
    [own, 'read your own password from a file, where the service asks for it again'],
    ['--code-file', 'read a code, or a recovery code, from a file'],
    ['--code-secret-file', 'compute the code from the secret of the authenticator in a file'],
  ] as const;
  for (const [long, help] of flags) if (!has(long)) command.addOption(new Option(`${long} <file>`, help).hideHelp());
}

/** Adds --password-stdin and --password-file. */
export function passwordFlags(command: Command): Command {
  return command
    .option('--password-stdin', 'read the password from stdin')
    .option('--password-file <file>', 'read the password from a file');
}

/** Adds the flags that give a one-time code: --code-stdin, --code-file and --code-secret-file. */
export function codeFlags(command: Command): Command {
  return command
    .option('--code-stdin', 'read a code of the second factor from stdin')
    .option('--code-file <file>', 'read a code, or a recovery code, from a file')
    .option('--code-secret-file <file>', 'compute the code from the secret of the authenticator in a file');
}

/** Adds the flags of a command that prints a list: --limit, --all and --cursor. */
export function paged(command: Command): Command {
  return command
    .option('--limit <n>', 'number of rows per page', integer(1, 200))
    .option('--all', 'fetch all pages')
    .option('--cursor <cursor>', 'continue after an earlier page');
}

/** Picks the options with these names, so that no other option gets into a request. */
export function given(options: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}

/** The login that a command needs: an administrator's, an application's, either of them, or none. */
export type Login = 'administrator' | 'application' | 'any' | 'none';

const logins = new WeakMap<Command, Login>();

/** Sets the login that a command needs; for a noun with verbs, `any` means that some of its verbs need no administrator. */
export function needs(command: Command, login: Login): Command {
  logins.set(command, login);
  return command;
}

/** The login that a command needs. A verb that sets none needs an administrator, unless its noun needs no login. */
export function loginOf(command: Command): Login {
  const own = logins.get(command);
  if (own !== undefined) return own;
  return command.parent && loginOf(command.parent) === 'none' ? 'none' : 'administrator';
}

const shown = new WeakMap<Command, readonly string[]>();

/** Sets the examples in the help of a command. A test runs each example. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  shown.set(command, lines);
  return command;
}

/** The examples of a command. */
export function examplesOf(command: Command): readonly string[] {
  return shown.get(command) ?? [];
}
