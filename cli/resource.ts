import type { Command } from 'commander';
import type { Query } from './api-client.ts';
import type { Context, ContextOf } from './context.ts';
import { UsageError } from './errors.ts';
import { choice, examples, paged } from './options.ts';
import type { Row, View } from './values.ts';
import { type WatchFlags, isDrawn, watch } from './watch.ts';

/** The flags of every list. */
export interface ListFlags {
  limit?: number;
  all?: boolean;
  cursor?: string;
}

/** Prints a list, page by page where the format allows it; says on stderr when more rows exist. */
export async function printList(
  { api, print, terminal }: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags,
  /** Sees the rows of each page. */
  look: (rows: readonly Row[]) => void = () => {},
): Promise<void> {
  const held: Row[] = [];
  let printed = 0;
  let lag = 0;
  /** Younger than a second is what a list is anyhow by the time it is read. */
  const tellLag = async () => {
    if (lag >= 1) await print.note(`These rows may be ${Math.round(lag)} s old: they come from a read replica.`);
  };
  for await (const page of api.pages(path, {
    ...query,
    limit: flags.limit ?? (flags.all ? 200 : undefined),
    cursor: flags.cursor,
  })) {
    look(page.rows);
    lag = Math.max(lag, page.lagSeconds ?? 0);
    if (print.linewise) {
      await print.list(page.rows, view, { continued: printed > 0 });
      printed += page.rows.length;
    } else held.push(...page.rows);
    if (terminal.out.closed) return;
    if (flags.all || page.nextCursor === null) continue;
    if (!print.linewise) await print.list(held, view);
    await tellLag();
    return print.note(`There are more rows: add --all, or --cursor ${page.nextCursor}`);
  }
  if (!print.linewise) await print.list(held, view);
  await tellLag();
  if (held.length === 0 && printed === 0 && print.format === 'table') await print.note(`No ${view.noun} found.`);
}

/** A page that a look reads, and how many pages it reads to find where the look before began. */
const WATCHED_ROWS = 200;
const MOST_PAGES = 50;

/** Watches the newest rows of a list: on a terminal as many as it has room for, in a pipe every row that is new or changed among them. */
export function watchList(
  context: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags & WatchFlags,
): Promise<void> {
  if (flags.all || flags.cursor !== undefined)
    throw new UsageError('--watch shows the newest rows, without --all and --cursor.');
  const { api, terminal } = context;
  const drawn = isDrawn(context);
  const look = async (isKnown: (row: Row) => boolean): Promise<Row[]> => {
    const limit = flags.limit ?? (drawn ? Math.max(1, Math.min(WATCHED_ROWS, terminal.out.rows - 3)) : undefined);
    const found: Row[] = [];
    let pages = 0;
    for await (const { rows } of api.pages(path, { ...query, limit })) {
      found.push(...rows);
      pages += 1;
      // In a pipe nothing is left out: more than a page may have come since the last look.
      if (drawn || isFirst || pages === MOST_PAGES || rows.some(isKnown)) break;
    }
    isFirst = false;
    return found;
  };
  let isFirst = true;
  return watch(context, flags, { view, look });
}

/** One field of a noun: an API member and the flag that carries it. */
export interface Field {
  /** Name of the member in the API. */
  name: string;
  /** Name of the flag, without dashes; by default the member in kebab-case. */
  flag?: string;
  /** What stands for the value in help. */
  value: string;
  help: string;
  /** Reads a value; `before` is what an earlier flag of the same name gave. */
  read?: (text: string, before?: unknown) => unknown;
  choices?: readonly string[];
  /** What `--clear` sends; null by default. */
  empty?: unknown;
  /** Asked for on a terminal when it is missing; `'text'`: an empty one is missing, too. */
  required?: boolean | 'text';
}

/** A noun: where its rows are, and how they are shown. */
export interface Resource {
  noun: string;
  plural: string;
  path: string;
  /** Last part of the path below the id, where a row is a part of another. */
  below?: string;
  view: View;
  /** What the positional is called in help. */
  idName: string;
  /** Rows live in a project, chosen by --project. */
  inProject?: boolean;
  filters?: readonly Field[];
}

/** A noun whose rows are created and updated. */
export interface Editable extends Resource {
  fields: readonly Field[];
  /** Fields that only `create` takes. */
  createOnly?: readonly Field[];
}

/** The flags of a verb of one row. */
export type RowFlags = Row & { project?: string };

type Options = RowFlags & ListFlags;

/** One segment of a path; refuses what a URL would understand as another path. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new UsageError(`"${id}" is not a valid id.`);
  return encodeURIComponent(id);
}

/** The path of one row. */
export function rowPath({ path, below }: Resource, id: string): string {
  return `${path}/${segment(id)}${below === undefined ? '' : `/${below}`}`;
}

/** Adds `list`. */
export function addList(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: readonly string[],
  words = `List ${resource.plural}, newest first.`,
): void {
  const { path, view, filters = [] } = resource;
  const command = noun.command('list').description(words);
  addFields(command, filters);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...lines).action((flags: Options) =>
    printList(context(), path, { ...queryOf(flags, filters), ...projectQuery(resource, flags) }, view, flags),
  );
}

/** Adds `get`. */
export function addGet(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: readonly string[],
  words = `Show one ${resource.noun}.`,
): void {
  const command = noun.command('get').description(words).argument(`<${resource.idName}>`);
  if (resource.inProject) projectFlag(command);
  examples(command, ...lines).action(async (id: string, flags: Options) => {
    const { api, print } = context();
    await print.item(await api.get(rowPath(resource, id), projectQuery(resource, flags)), resource.view);
  });
}

/** Asks for the required fields that are missing; refuses where nobody can be asked. */
export async function complete({ prompts }: Context, fields: readonly Field[], body: Row): Promise<Row> {
  const whole = { ...body };
  for (const field of fields) {
    const value = whole[field.name];
    const isGiven = value !== undefined && (field.required !== 'text' || value !== '');
    if (!field.required || isGiven) continue;
    const question = { message: field.help, flag: `--${flagOf(field)}` };
    const answer = field.choices
      ? await prompts.choose(
          question,
          field.choices.map((value) => ({ value })),
        )
      : await prompts.text({ ...question, validate: (text) => text !== '' || 'A value is required.' });
    whole[field.name] = field.read ? field.read(answer) : answer;
  }
  return whole;
}

/** Adds a flag for each field. */
export function addFields(command: Command, fields: readonly Field[]): void {
  for (const field of fields) {
    const flags = `--${flagOf(field)} <${field.value}>`;
    if (field.choices) command.addOption(choice(flags, field.help, field.choices));
    else if (field.read) command.option(flags, field.help, field.read);
    else command.option(flags, field.help);
  }
}

/** The members of a request body that were given as flags. */
export function bodyOf(options: Row, fields: readonly Field[]): Row {
  const entries = fields.map((field): [string, unknown] => [field.name, options[camel(flagOf(field))]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The filters that were given as flags. */
export function queryOf(flags: Row, filters: readonly Field[]): Query {
  return bodyOf(flags, filters) as Query;
}

/** The flag of a field, without dashes. */
export function flagOf(field: Field): string {
  return field.flag ?? field.name.replace(/_/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function camel(flag: string): string {
  return flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Adds --project. */
export function projectFlag(command: Command): Command {
  return command.option('--project <code>', 'project code, by default "default"');
}

/** The project of a row, as the query of its path. */
export function projectQuery(resource: Resource, { project }: RowFlags): Query {
  return resource.inProject ? { project } : {};
}

/** A list that hangs below one row of a noun, e.g. the orders of a user. */
export interface SubList {
  /** The verb, and the last part of the path. */
  verb: string;
  words: string;
  view: View;
  filters?: readonly Field[];
  lines: readonly string[];
}

/** Adds the verb that prints such a list. */
export function addSubList(noun: Command, context: ContextOf, resource: Resource, list: SubList): void {
  const { verb, view, filters = [] } = list;
  const command = noun.command(verb).description(list.words).argument(`<${resource.idName}>`);
  addFields(command, filters);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...list.lines).action((id: string, flags: Options) =>
    printList(
      context(),
      `${rowPath(resource, id)}/${verb}`,
      { ...queryOf(flags, filters), ...projectQuery(resource, flags) },
      view,
      flags,
    ),
  );
}
