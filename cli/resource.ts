import type { Command } from 'commander';
import type { Query } from './api-client.ts';
import { administratorNeeded } from './application.ts';
import type { Context, ContextOf } from './context.ts';
import { UsageError } from './errors.ts';
import { coded, say } from './language.ts';
import { choice, examples, needs, paged } from './options.ts';
import type { Row, View } from './values.ts';
import { type WatchFlags, isDrawn, watch } from './watch.ts';

export interface ListFlags {
  limit?: number;
  all?: boolean;
  cursor?: string;
}

/** Prints a list, page by page if the format has one line per row. A note on stderr says if there are more rows. */
export async function printList(
  { api, print, terminal }: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags,
  onPage: (rows: readonly Row[]) => void = () => {},
): Promise<void> {
  const buffered: Row[] = [];
  let printed = 0;
  let lag = 0;
  const noteLag = async () => {
    if (lag >= 1) await print.note(say`These rows may be ${Math.round(lag)} s old: they come from a read replica.`);
  };
  for await (const page of api.pages(path, {
    ...query,
    limit: flags.limit ?? (flags.all ? 200 : undefined),
    cursor: flags.cursor,
  })) {
    onPage(page.rows);
    lag = Math.max(lag, page.lagSeconds ?? 0);
    if (print.linewise) {
      await print.list(page.rows, view, { continued: printed > 0 });
      printed += page.rows.length;
    } else buffered.push(...page.rows);
    if (terminal.out.closed) return;
    if (flags.all || page.nextCursor === null) continue;
    if (!print.linewise) await print.list(buffered, view);
    await noteLag();
    return print.note(say`There are more rows: add --all, or --cursor ${page.nextCursor}`);
  }
  if (!print.linewise) await print.list(buffered, view);
  await noteLag();
  if (buffered.length === 0 && printed === 0 && print.format === 'table')
    await print.note(say`No ${coded('noun', view.noun)} found.`);
}

const WATCHED_PAGE_ROWS = 200;
const MAX_PAGES_PER_POLL = 50;

/** Watches the newest rows of a list. A terminal shows as many rows as fit. A pipe gets all new or changed rows. */
export function watchList(
  context: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags & WatchFlags,
): Promise<void> {
  if (flags.all || flags.cursor !== undefined)
    throw new UsageError('--watch shows only the newest rows; remove --all and --cursor.');
  const { api, terminal } = context;
  const drawn = isDrawn(context);
  const poll = async (isKnown: (row: Row) => boolean): Promise<Row[]> => {
    const limit = flags.limit ?? (drawn ? Math.max(1, Math.min(WATCHED_PAGE_ROWS, terminal.out.rows - 3)) : undefined);
    const found: Row[] = [];
    let pages = 0;
    for await (const { rows } of api.pages(path, { ...query, limit })) {
      found.push(...rows);
      pages += 1;
      // A pipe must get every new row. More than one page may be new, so pages are read until a known row appears.
      if (drawn || isFirst || pages === MAX_PAGES_PER_POLL || rows.some(isKnown)) break;
    }
    isFirst = false;
    return found;
  };
  let isFirst = true;
  return watch(context, flags, { view, poll });
}

/** A field of a resource: a property in the API and the flag that sets it. */
export interface Field {
  name: string;
  /** Name of the flag, without dashes; by default `name` in kebab-case. */
  flag?: string;
  /** Placeholder of the value in help, e.g. `code`. */
  value: string;
  help: string;
  /** Parses a value. `before` is the parsed value if the flag was already given; undefined otherwise. */
  read?: (text: string, before?: unknown) => unknown;
  choices?: readonly string[];
  /** The value that is sent for `--clear`; null by default. */
  empty?: unknown;
  /** Whether payctl prompts for a missing value. With `'text'` payctl also prompts if the value is empty. */
  required?: boolean | 'text';
}

export interface Resource {
  noun: string;
  plural: string;
  path: string;
  /** Last segment of the API path, after the id, for a part of another resource, e.g. the webhook of an app. */
  below?: string;
  view: View;
  idName: string;
  /** Whether the rows belong to a project, so that commands take --project. */
  inProject?: boolean;
  filters?: readonly Field[];
  own?: OwnRows;
}

/** The rows of an application in the merchant API. */
interface OwnRows {
  /** Path of the list; absent if there is none. */
  list?: string;
  /** Path before the id of one row; absent if a row cannot be requested. */
  get?: string;
  /** Path of the only row that an application has, e.g. its webhook. Commands then need no id. */
  only?: string;
  /** Names of the filters that the list has. */
  filters?: readonly string[];
}

export interface Editable extends Resource {
  fields: readonly Field[];
  createOnly?: readonly Field[];
}

export type RowFlags = Row & { project?: string };

type Options = RowFlags & ListFlags;

/** Encodes one segment of a path. Throws for `.` and similar segments that a URL would resolve to another path. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new UsageError(`"${id}" is not a valid id.`);
  return encodeURIComponent(id);
}

/** The API path of one object of a resource, e.g. `/api/v1/orders/P…`. */
export function rowPath({ path, below }: Resource, id: string): string {
  return `${path}/${segment(id)}${below === undefined ? '' : `/${below}`}`;
}

/** Adds the id argument. An application may omit the id of the only row that it has. */
export function idArgument(command: Command, { own, idName }: Resource, help?: string): void {
  if (own?.only === undefined) command.argument(`<${idName}>`, help);
  else needs(command, 'any').argument(`[${idName}]`, 'for an application, by default its own');
}

/** The row that a command names, and its API path for the login in use. Throws for a row of another application. */
export async function namedRow(
  { application }: Pick<Context, 'application'>,
  resource: Resource,
  id: string | undefined,
): Promise<{ id: string; path: string }> {
  const { own, noun, idName } = resource;
  const acting = own?.only === undefined ? undefined : await application();
  if (own?.only !== undefined && acting) {
    if (id !== undefined && id !== acting.clientId)
      throw administratorNeeded(acting, `the ${noun} of another application`);
    return { id: acting.clientId, path: own.only };
  }
  if (id === undefined)
    throw new UsageError(`Missing required argument '${idName}'.`, 'only an application may omit it');
  return { id, path: rowPath(resource, id) };
}

/** Adds the subcommand `list`, which prints the objects of a resource page by page. */
export function addList(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: readonly string[],
  words = `List ${resource.plural}, newest first.`,
): void {
  const { view, filters = [] } = resource;
  const command = noun.command('list').description(words);
  if (resource.own?.list !== undefined) needs(command, 'any');
  addFields(command, filters);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...lines).action(async (flags: Options) => {
    const query = { ...queryOf(flags, filters), ...projectQuery(resource, flags) };
    await printList(context(), await listPath(context(), resource, query), query, view, flags);
  });
}

/** The path of a list for the login in use. Throws if an application uses a filter that only administrators have. */
export async function listPath({ application }: Context, resource: Resource, query: Query): Promise<string> {
  const { own, path, filters = [] } = resource;
  const acting = own?.list === undefined ? undefined : await application();
  if (own?.list === undefined || !acting) return path;
  const extra = filters.find(({ name }) => query[name] !== undefined && !own.filters?.includes(name));
  if (extra) throw administratorNeeded(acting, `--${flagOf(extra)}`);
  return own.list;
}

/** Adds the subcommand `get`, which prints one object of a resource. */
export function addGet(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: readonly string[],
  words = `Show one ${resource.noun}.`,
): void {
  const command = noun.command('get').description(words);
  idArgument(command, resource);
  const own = resource.own?.get;
  if (own !== undefined) needs(command, 'any');
  if (resource.inProject) projectFlag(command);
  examples(command, ...lines).action(async (named: string | undefined, flags: Options) => {
    const { api, application, print } = context();
    const { id, path: usual } = await namedRow(context(), resource, named);
    const isOwn = own !== undefined && (await application()) !== undefined;
    const path = isOwn ? `${own}/${segment(id)}` : usual;
    await print.item(await api.get(path, projectQuery(resource, flags)), resource.view);
  });
}

/** Prompts for missing required fields. Throws if there is no terminal. */
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

/** Builds the request body from the flags. */
export function bodyOf(options: Row, fields: readonly Field[]): Row {
  const entries = fields.map((field): [string, unknown] => [field.name, options[camel(flagOf(field))]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Builds the query parameters of a list request from the filter flags. */
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

/** The query parameter `project`; none if the objects of the resource do not belong to projects. */
export function projectQuery(resource: Resource, { project }: RowFlags): Query {
  return resource.inProject ? { project } : {};
}

/** A list that belongs to one object, e.g. the orders of a user. */
export interface SubList {
  /** The subcommand, which is also the last segment of the path. */
  verb: string;
  words: string;
  view: View;
  filters?: readonly Field[];
  lines: readonly string[];
}

/** Adds the subcommand for a list that belongs to one object, e.g. the orders of a user. */
export function addSubList(noun: Command, context: ContextOf, resource: Resource, list: SubList): void {
  const { verb, view, filters = [] } = list;
  const command = noun.command(verb).description(list.words);
  idArgument(command, resource);
  addFields(command, filters);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...list.lines).action(async (id: string | undefined, flags: Options) => {
    const { path } = await namedRow(context(), resource, id);
    const query = { ...queryOf(flags, filters), ...projectQuery(resource, flags) };
    await printList(context(), `${path}/${verb}`, query, view, flags);
  });
}
