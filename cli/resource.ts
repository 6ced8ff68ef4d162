import type { Command } from 'commander';
import type { Query } from './api-client.ts';
import type { Context, ContextOf } from './context.ts';
import { UsageError } from './errors.ts';
import { changes, choice, examples, list, paged } from './options.ts';
import type { ChangeFlags, Risk } from './safety.ts';
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
  /** Needed to create; asked for on a terminal. */
  required?: boolean;
}

/** A noun whose verbs follow the common pattern. */
export interface Resource {
  noun: string;
  plural: string;
  path: string;
  view: View;
  /** What the positional is called in help. */
  idName: string;
  /** Rows live in a project, chosen by --project. */
  inProject?: boolean;
  fields: readonly Field[];
  /** Fields that only `create` takes. */
  createOnly?: readonly Field[];
  filters?: readonly Field[];
}

type Options = Row & ListFlags & ChangeFlags & { project?: string; clear?: readonly string[] };

/** One segment of a path; refuses what a URL would understand as another path. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new UsageError(`"${id}" is not a valid id.`);
  return encodeURIComponent(id);
}

/** Adds `list`. */
export function addList(noun: Command, context: ContextOf, resource: Resource, lines: readonly string[]): void {
  const command = noun.command('list').description(`List ${resource.plural}, newest first.`);
  addFields(command, resource.filters ?? []);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...lines).action((options: Options) => runList(context(), resource, options));
}

/** Prints the rows of a noun that pass the filters. */
function runList(context: Context, resource: Resource, options: Options): Promise<void> {
  const filters = bodyOf(options, resource.filters ?? []) as Query;
  return printList(context, resource.path, { ...filters, ...projectQuery(resource, options) }, resource.view, options);
}

/** A noun with its article. */
function one(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** Adds `get`. */
export function addGet(noun: Command, context: ContextOf, resource: Resource, lines: readonly string[]): void {
  const command = noun.command('get').description(`Show one ${resource.noun}.`).argument(`<${resource.idName}>`);
  if (resource.inProject) projectFlag(command);
  examples(command, ...lines).action((id: string, options: Options) => runGet(context(), resource, id, options));
}

/** Prints one row. */
async function runGet({ api, print }: Context, resource: Resource, id: string, options: Options): Promise<void> {
  await print.item(await api.get(`${resource.path}/${segment(id)}`, projectQuery(resource, options)), resource.view);
}

/** Adds `create`. */
export function addCreate(noun: Command, context: ContextOf, resource: Resource, lines: readonly string[]): void {
  const command = noun
    .command('create')
    .description(`Create ${one(resource.noun)}. Missing values are prompted for on a terminal.`);
  addFields(command, createFields(resource));
  if (resource.inProject) projectFlag(command);
  examples(changes(command), ...lines).action((options: Options) => runCreate(context(), resource, options));
}

function createFields(resource: Resource): Field[] {
  return [...(resource.createOnly ?? []), ...resource.fields];
}

/** Creates a row from what was given and asked. */
async function runCreate(context: Context, resource: Resource, options: Options): Promise<void> {
  const fields = createFields(resource);
  const body = await complete(context, fields, bodyOf(options, fields));
  const { noun, path, view } = resource;
  const row = await context.change(
    { what: `create ${noun}`, method: 'POST', path, body, query: projectQuery(resource, options) },
    options,
  );
  if (!row) return;
  await context.print.item(row, view);
  await context.print.done(`Created ${noun} ${String(row[view.id] ?? '')}.`);
}

/** Asks for the required fields that are missing; refuses where nobody can be asked. */
export async function complete({ prompts }: Context, fields: readonly Field[], body: Row): Promise<Row> {
  const whole = { ...body };
  for (const field of fields) {
    if (!field.required || whole[field.name] !== undefined) continue;
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

/** Adds `update`. */
export function addUpdate(noun: Command, context: ContextOf, resource: Resource, lines: readonly string[]): void {
  const command = noun
    .command('update')
    .description(`Update ${one(resource.noun)}. Only the given fields change.`)
    .argument(`<${resource.idName}>`);
  addFields(command, resource.fields);
  command.option('--clear <a,b>', 'clear these fields', list);
  if (resource.inProject) projectFlag(command);
  examples(changes(command), ...lines).action((id: string, options: Options) =>
    runUpdate(context(), resource, id, options),
  );
}

/** Sends what was given of a row, and nothing else. */
async function runUpdate(
  { api, change, print }: Context,
  resource: Resource,
  id: string,
  options: Options,
): Promise<void> {
  const cleared = (options.clear ?? [])
    .map((name) => fieldOf(name, resource))
    .map(({ name, empty = null }) => [name, empty]);
  const body = { ...bodyOf(options, resource.fields), ...Object.fromEntries(cleared) };
  if (Object.keys(body).length === 0)
    throw new UsageError('No changes were given.', `payctl ${resource.noun} update --help`);
  const path = `${resource.path}/${segment(id)}`;
  const query = projectQuery(resource, options);
  const row = await change(
    {
      what: `update ${resource.noun} ${id}`,
      name: id,
      method: 'PUT',
      path,
      query,
      body,
      current: () => api.get(path, query),
    },
    options,
  );
  if (!row) return;
  await print.item(row, resource.view);
  await print.done(`Updated ${resource.noun} ${id}.`);
}

function fieldOf(name: string, resource: Resource): Field {
  const field = resource.fields.find((known) => known.name === name || flagOf(known) === name);
  if (!field) throw new UsageError(`Unknown field "${name}".`, `fields: ${resource.fields.map(flagOf).join(', ')}`);
  return field;
}

/** Adds `enable` and `disable`; `risk` is what disabling asks of the user. */
export function addToggle(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: { enable: readonly string[]; disable: readonly string[] },
  risk: Risk = 'moderate',
): void {
  for (const verb of ['enable', 'disable'] as const) {
    const command = noun
      .command(verb)
      .description(`${verb === 'enable' ? 'Enable' : 'Disable'} ${one(resource.noun)}.`)
      .argument(`<${resource.idName}>`);
    if (resource.inProject) projectFlag(command);
    const asks = verb === 'enable' ? 'plain' : risk;
    examples(changes(command), ...lines[verb]).action((id: string, options: Options) =>
      runToggle(context(), resource, id, { ...options, enabled: verb === 'enable', risk: asks }),
    );
  }
}

/** Turns a row on or off. */
export async function runToggle(
  { change, print }: Context,
  resource: Resource,
  id: string,
  options: Options & { enabled: boolean; risk: Risk },
): Promise<void> {
  const verb = options.enabled ? 'enable' : 'disable';
  const row = await change(
    {
      what: `${verb} ${resource.noun} ${id}`,
      name: id,
      risk: options.risk,
      method: 'PUT',
      path: `${resource.path}/${segment(id)}/toggle`,
      query: projectQuery(resource, options),
      body: { enabled: options.enabled },
    },
    options,
  );
  if (!row) return;
  await print.item(row, resource.view);
  await print.done(`${options.enabled ? 'Enabled' : 'Disabled'} ${resource.noun} ${id}.`);
}

/** Adds `delete`. */
export function addDelete(noun: Command, context: ContextOf, resource: Resource, lines: readonly string[]): void {
  const command = noun
    .command('delete')
    .description(`Delete ${one(resource.noun)}. Type its ${resource.idName} to confirm, or use --confirm.`)
    .argument(`<${resource.idName}>`);
  if (resource.inProject) projectFlag(command);
  examples(changes(command), ...lines).action((id: string, options: Options) =>
    runDelete(context(), resource, id, options),
  );
}

/** Deletes a row. */
async function runDelete({ change, print }: Context, resource: Resource, id: string, options: Options): Promise<void> {
  const path = `${resource.path}/${segment(id)}`;
  const what = `delete ${resource.noun} ${id}`;
  const answer = await change(
    { what, name: id, risk: 'severe', method: 'DELETE', path, query: projectQuery(resource, options) },
    options,
  );
  if (!answer) return;
  if (print.json) await print.item({ [resource.view.id]: id, deleted: true }, resource.view);
  await print.done(`Deleted ${resource.noun} ${id}.`);
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

function flagOf(field: Field): string {
  return field.flag ?? field.name.replace(/_/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function camel(flag: string): string {
  return flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Adds --project. */
export function projectFlag(command: Command): Command {
  return command.option('--project <code>', 'project code, by default "default"');
}

function projectQuery(resource: Resource, options: { project?: string }): Query {
  return resource.inProject && options.project !== undefined ? { project: options.project } : {};
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

type SubListFlags = Row & ListFlags & { project?: string };

/** Adds the verb that prints such a list. */
export function addSubList(noun: Command, context: ContextOf, resource: Resource, list: SubList): void {
  const command = noun.command(list.verb).description(list.words).argument(`<${resource.idName}>`);
  addFields(command, list.filters ?? []);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...list.lines).action((id: string, options: SubListFlags) =>
    runSubList(context(), resource, list, id, options),
  );
}

/** Prints the list below one row. */
function runSubList(
  context: Context,
  resource: Resource,
  list: SubList,
  id: string,
  options: SubListFlags,
): Promise<void> {
  const filters = bodyOf(options, list.filters ?? []) as Query;
  return printList(
    context,
    `${resource.path}/${segment(id)}/${list.verb}`,
    { ...filters, project: options.project },
    list.view,
    options,
  );
}
