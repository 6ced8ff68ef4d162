import type { Command } from 'commander';
import type { Context, ContextOf } from './context.ts';
import { UsageError } from './errors.ts';
import type { Text } from './language.ts';
import { changes, examples, list, needs } from './options.ts';
import {
  type Editable,
  type Field,
  type Resource,
  type RowFlags,
  addFields,
  bodyOf,
  complete,
  flagOf,
  idArgument,
  namedRow,
  projectFlag,
  projectQuery,
  rowPath,
} from './resource.ts';
import type { Change, ChangeFlags, Risk } from './safety.ts';
import type { Row, View } from './values.ts';

type ActionFlags = RowFlags & ChangeFlags & { clear?: readonly string[] };

/** A subcommand that changes data, e.g. `close` of `payctl order`. */
export interface Action {
  verb: string;
  words: string;
  lines: readonly string[];
  /** Help text of the id argument; false for a subcommand without an id. */
  id?: string | false;
  fields?: readonly Field[];
  /** Fields of the request body with a fixed value. */
  body?: Row;
  /** Adds flags that are not fields of the request body. */
  flags?: (command: Command) => unknown;
  /** Whether an application can use the subcommand, too. If so, `request` chooses the path. */
  merchants?: boolean;
  /** HTTP method; POST by default. */
  method?: Change['method'];
  /** Last segment of the API path, after the id; by default the name of the subcommand. false: the path has none. */
  below?: string | false;
  /** Computes parts of the request, e.g. from data that payctl first reads from the service. */
  request?: (id: string, body: Row, context: Context, flags: ActionFlags) => Partial<Change> | Promise<Partial<Change>>;
  risk?: Risk;
  money?: boolean;
  /** The columns in which payctl prints the response; by default the columns of the resource. */
  view?: View;
  /** The message that payctl prints on stderr after the response. */
  done?: (answer: Row, id: string) => Text;
  /** Prints the response. If this function is given, payctl ignores `view` and `done`. */
  print?: (context: Context, answer: Row, id: string, flags: ActionFlags) => Promise<void>;
}

/** Adds the subcommand that an Action describes. */
export function addAction(noun: Command, context: ContextOf, resource: Resource, action: Action): void {
  const { verb, words, lines, id, fields = [], money = false } = action;
  const command = noun.command(verb).description(words);
  if (action.merchants) needs(command, 'any');
  if (id !== false) idArgument(command, resource, id);
  if (resource.inProject) projectFlag(command);
  addFields(command, fields);
  action.flags?.(command);
  examples(changes(command, { money }), ...lines).action(() =>
    runAction(context(), resource, action, command.processedArgs[0] as string | undefined, command.opts()),
  );
}

async function runAction(
  context: Context,
  resource: Resource,
  action: Action,
  named: string | undefined,
  flags: ActionFlags,
): Promise<void> {
  const { id, path: place } =
    action.id === false ? { id: '', path: resource.path } : await namedRow(context, resource, named);
  const { verb, fields = [], below = verb, method = 'POST', money = false, risk = 'plain' } = action;
  const body = { ...action.body, ...(await complete(context, fields, bodyOf(flags, fields))) };
  const { what, path, ...more } = (await action.request?.(id, body, context, flags)) ?? {};
  const answer = await context.change(
    {
      what: what ?? `${verb} ${resource.noun} ${id}`,
      ...(action.id !== false && { name: id }),
      risk,
      method,
      money,
      path: path ?? (below === false ? place : `${place}/${below}`),
      query: projectQuery(resource, flags),
      ...(Object.keys(body).length > 0 && { body }),
      ...more,
    },
    flags,
  );
  if (!answer) return;
  if (action.print) return action.print(context, answer, id, flags);
  await context.print.item(answer, action.view ?? resource.view);
  if (action.done) await context.print.done(action.done(answer, id));
}

function one(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** Adds the subcommand `create`, which creates an object of the resource. */
export function addCreate(noun: Command, context: ContextOf, resource: Editable, lines: readonly string[]): void {
  const command = noun
    .command('create')
    .description(`Create ${one(resource.noun)}. Missing values are prompted for on a terminal.`);
  addFields(command, createFields(resource));
  if (resource.inProject) projectFlag(command);
  examples(changes(command), ...lines).action((options: ActionFlags) => runCreate(context(), resource, options));
}

function createFields(resource: Editable): Field[] {
  return [...(resource.createOnly ?? []), ...resource.fields];
}

async function runCreate(context: Context, resource: Editable, options: ActionFlags): Promise<void> {
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

/** Adds the subcommand `update`, which changes the given fields. `more` adds flags and computes parts of the request. */
export function addUpdate(
  noun: Command,
  context: ContextOf,
  resource: Editable,
  lines: readonly string[],
  more: Pick<Action, 'flags' | 'request'> = {},
): void {
  const command = noun
    .command('update')
    .description(`Update ${one(resource.noun)}. Only the given fields change.`)
    .argument(`<${resource.idName}>`);
  addFields(command, resource.fields);
  more.flags?.(command);
  command.option('--clear <a,b>', 'clear these fields', list);
  if (resource.inProject) projectFlag(command);
  examples(changes(command), ...lines).action((id: string, options: ActionFlags) =>
    runUpdate(context(), resource, id, options, more.request),
  );
}

async function runUpdate(
  context: Context,
  resource: Editable,
  id: string,
  options: ActionFlags,
  request?: Action['request'],
): Promise<void> {
  const { api, change, print } = context;
  const cleared = (options.clear ?? [])
    .map((name) => fieldOf(name, resource))
    .map(({ name, empty = null }) => [name, empty]);
  const given = { ...bodyOf(options, resource.fields), ...Object.fromEntries(cleared) };
  const { what, ...more } = (await request?.(id, given, context, options)) ?? {};
  const body = (more.body as Row | undefined) ?? given;
  if (Object.keys(body).length === 0)
    throw new UsageError('No changes were given.', `payctl ${resource.noun} update --help`);
  const path = rowPath(resource, id);
  const query = projectQuery(resource, options);
  const row = await change(
    {
      what: what ?? `update ${resource.noun} ${id}`,
      name: id,
      method: 'PUT',
      path,
      query,
      current: () => api.get(path, query),
      ...more,
      body,
    },
    options,
  );
  if (!row) return;
  await print.item(row, resource.view);
  await print.done(`Updated ${resource.noun} ${id}.`);
}

function fieldOf(name: string, resource: Editable): Field {
  const field = resource.fields.find((known) => known.name === name || flagOf(known) === name);
  if (!field) throw new UsageError(`Unknown field "${name}".`, `fields: ${resource.fields.map(flagOf).join(', ')}`);
  return field;
}

/** Adds the subcommands `enable` and `disable`. `more` adds or replaces properties, e.g. the help text. */
export function addToggle(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: Readonly<Record<Toggle, readonly string[]>>,
  more: (verb: Toggle) => Partial<Action> = () => ({}),
): void {
  for (const verb of ['enable', 'disable'] as const) {
    const enabled = verb === 'enable';
    addAction(noun, context, resource, {
      verb,
      words: `${enabled ? 'Enable' : 'Disable'} ${one(resource.noun)}.`,
      lines: lines[verb],
      risk: enabled ? 'plain' : 'moderate',
      method: 'PUT',
      below: 'toggle',
      body: { enabled },
      done: (_row, id) => `${enabled ? 'Enabled' : 'Disabled'} ${resource.noun} ${id}.`,
      ...more(verb),
    });
  }
}

type Toggle = 'enable' | 'disable';

/** Adds the subcommand `delete`, which deletes one object of the resource. The operator must type its id to confirm. */
export function addDelete(
  noun: Command,
  context: ContextOf,
  resource: Resource,
  lines: readonly string[],
  more: Partial<Action> = {},
): void {
  addAction(noun, context, resource, {
    verb: 'delete',
    words: `Delete ${one(resource.noun)}. Type its ${resource.idName} to confirm, or use --confirm.`,
    lines,
    risk: 'severe',
    method: 'DELETE',
    below: false,
    async print({ print }, _answer, id) {
      if (print.json) await print.item({ [resource.view.id]: id, deleted: true }, resource.view);
      await print.done(`Deleted ${resource.noun} ${id}.`);
    },
    ...more,
  });
}
