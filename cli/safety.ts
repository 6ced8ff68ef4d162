import type { ApiClient, Call, Query } from './api-client.ts';
import { Cancelled, FlagRequired, UsageError } from './errors.ts';
import type { Print } from './output.ts';
import type { Prompts } from './prompts.ts';
import { redact } from './http.ts';
import type { Target } from './settings.ts';
import { type Spinner, type Terminal, withSpinner } from './terminal.ts';
import { plain, visible, type Row } from './values.ts';

export interface ChangeFlags {
  yes?: boolean;
  confirm?: string;
  dryRun?: boolean;
  idempotencyKey?: string;
  /** The files with the operator's password or a one-time code are read only if the service demands a confirmation. */
  passwordFile?: string | undefined;
  ownPasswordFile?: string;
  /** The flag that gives the operator's own password, for messages: `--password-file` or `--own-password-file`. */
  passwordFlag?: string;
  codeFile?: string;
  codeSecretFile?: string;
}

/** How the operator must confirm a change: not at all, with yes, or by typing a name. */
export type Risk = 'plain' | 'moderate' | 'severe';

/** A change of data, and the texts and rules for its confirmation. */
export interface Change {
  /** The change in words, e.g. `disable app app_…`. */
  what: string;
  method: 'POST' | 'PUT' | 'DELETE';
  path: string;
  query?: Query;
  body?: unknown;
  raw?: Call['raw'];
  headers?: Call['headers'];
  accept?: Call['accept'];
  silenceMs?: Call['silenceMs'];
  /** Called before the request, so that the caller can update the text of the spinner. */
  progress?: (spinner: Spinner) => void;
  /** If the body is not JSON or contains secrets, --dry-run prints this value instead of the body. */
  shown?: unknown;
  risk?: Risk;
  /** The name that the operator types to confirm a severe change. `--confirm` must contain the same name. */
  name?: string;
  /** Reads the current values, so that --dry-run prints the old and new value of each changed field. */
  current?: () => Promise<Row>;
  /** Whether the change is one of several changes that were confirmed together. If so, payctl does not prompt again. */
  isPart?: boolean;
  /** Whether the change moves money. If so, it is sent with an Idempotency-Key. */
  money?: boolean;
}

/** Prints the server, asks for confirmation and sends the change. Returns undefined after --dry-run. */
export type MakeChange = (change: Change, flags: ChangeFlags) => Promise<Row | undefined>;

interface GuardParts {
  terminal: Terminal;
  print: Print;
  prompts: Prompts;
  api: ApiClient;
  target(): Promise<Target>;
  /** The last completed change, and the flags that a confirmation with the operator's password uses. */
  run: { completedChange?: string; changeFlags?: ChangeFlags };
}

/** Creates the function that makes every change on the server. */
export function createGuard(parts: GuardParts): MakeChange {
  return async (change, flags) => {
    const target = await parts.target();
    if (flags.dryRun) {
      await showPlan(parts, change);
      return undefined;
    }
    if (!change.isPart) {
      await parts.print.note(targetLine(parts.terminal, target));
      await confirmChange(parts.prompts, change, flags, `${target.context ?? target.origin}`);
    }
    parts.run.changeFlags = flags;
    const key = change.money ? { idempotencyKey: flags.idempotencyKey ?? crypto.randomUUID() } : {};
    const { method, path, query, body, raw, headers, accept, silenceMs } = change;
    const send = (): Promise<Row> =>
      parts.api.data({ method, path, ...key, ...defined({ query, body, raw, headers, accept, silenceMs }) });
    const row = await withSpinner(parts.terminal.err, `${change.what} …`, (spinner) => {
      change.progress?.(spinner);
      return send();
    });
    parts.run.completedChange = change.what;
    return row;
  };
}

function defined<T extends object>(parts: T): Partial<T> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** The line that is printed before every change: label (dev, staging or prod), server address and user. */
export function targetLine(terminal: Terminal, target: Target): string {
  const { style } = terminal.err;
  const look = target.label === 'prod' ? (['red', 'bold'] as const) : target.label === 'staging' ? 'yellow' : 'green';
  const user = target.user ? `  as ${visible(target.user)}` : '';
  return `${style(look, target.label)}  ${target.server}${user}`;
}

/** Checks --confirm and --yes, or prompts. Throws if the operator refuses, or without a terminal for the prompt. */
export async function confirmChange(
  prompts: Prompts,
  change: Pick<Change, 'what' | 'risk' | 'name'>,
  flags: ChangeFlags,
  place: string,
): Promise<void> {
  const { what, risk = 'plain', name } = change;
  if (flags.confirm !== undefined && flags.confirm !== name) {
    throw new UsageError(
      `--confirm is "${flags.confirm}", but must be "${name ?? what}".`,
      undefined,
      'confirm_mismatch',
    );
  }
  if (risk === 'plain' || flags.confirm !== undefined) return;
  if (risk === 'severe') return typeName(prompts, what, name ?? what, place);
  if (flags.yes) return;
  if (!prompts.possible) throw new FlagRequired('--yes', 'confirmation_needed');
  if (!(await prompts.yes({ message: `Are you sure you want to ${what} on ${place}?`, flag: '--yes' })))
    throw new Cancelled();
}

async function typeName(prompts: Prompts, what: string, name: string, place: string): Promise<void> {
  const flag = `--confirm ${name}`;
  if (!prompts.possible) throw new FlagRequired(flag, 'confirmation_needed');
  const typed = await prompts.text({ message: `This will ${what} on ${place}. Type ${name} to confirm:`, flag });
  if (typed !== name) throw new Cancelled('The typed name did not match; nothing was changed.');
}

async function showPlan({ terminal, print }: GuardParts, change: Change): Promise<void> {
  const query = Object.entries(change.query ?? {}).filter(([, value]) => value !== undefined);
  const search =
    query.length > 0
      ? `?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, String(value)]))}`
      : '';
  const path = change.path + search;
  const body = redact(change.shown ?? change.body) ?? null;
  const changes = change.current ? differences(await change.current(), change.body as Row) : undefined;
  await print.note('Dry run: nothing was sent.');
  const { out } = terminal;
  if (print.json)
    return out.write(
      `${JSON.stringify({ dryRun: true, method: change.method, path, body, ...(changes ? { changes } : {}) }, null, print.format === 'json' ? 2 : 0)}\n`,
    );
  const diff = changes?.flatMap(({ field, from, to }) => [
    out.style('red', `- ${field}: ${visible(plain(from))}`),
    out.style('green', `+ ${field}: ${visible(plain(to))}`),
  ]);
  const lines = [
    `${change.method} ${path}`,
    ...(body === null ? [] : [JSON.stringify(body, null, 2)]),
    ...(diff ?? []),
  ];
  return out.write(`${lines.join('\n')}\n`);
}

function differences(current: Row, update: Row): { field: string; from: unknown; to: unknown }[] {
  return Object.entries(redact(update) as Row)
    .map(([field, to]) => ({ field, from: (redact(current) as Row)[field] ?? null, to }))
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to));
}
