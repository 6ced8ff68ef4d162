import type { Command } from 'commander';
import type { Query } from './api-client.ts';
import type { Context, ContextOf } from './context.ts';
import { printList, type ListFlags } from './listing.ts';
import { examples, paged } from './options.ts';
import { addFields, bodyOf, projectFlag, segment, type Field, type Resource } from './resource.ts';
import type { Row, View } from './values.ts';

/** A list that hangs below one row of a noun, e.g. the orders of a user. */
export interface SubList {
  /** The verb, and the last part of the path. */
  verb: string;
  words: string;
  view: View;
  filters?: readonly Field[];
  lines: readonly string[];
}

type Options = Row & ListFlags & { project?: string };

/** Adds the verb that prints such a list. */
export function addSubList(noun: Command, context: ContextOf, resource: Resource, list: SubList): void {
  const command = noun.command(list.verb).description(list.words).argument(`<${resource.idName}>`);
  addFields(command, list.filters ?? []);
  if (resource.inProject) projectFlag(command);
  examples(paged(command), ...list.lines).action((id: string, options: Options) =>
    runSubList(context(), resource, list, id, options),
  );
}

/** Prints the list below one row. */
export function runSubList(
  context: Context,
  resource: Resource,
  list: SubList,
  id: string,
  options: Options,
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
