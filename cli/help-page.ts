import type { Command, Option } from 'commander';
import type { HelpPage } from './help.ts';
import { examplesOf } from './options.ts';

/** What the help of a command says, without its looks: plain data, so that it can also be written down when payctl is built. */
export function helpPage(command: Command): HelpPage {
  const children = visibleCommands(command);
  const rows = optionRows(command.options);
  const description = command.description() || command.summary();
  if (!command.parent) {
    const groups = Map.groupBy(children, (child) => child.helpGroup() || 'Other');
    return {
      description: command.description(),
      names: command.commands.map((child) => child.name()),
      groups: [...groups].map(([title, commands]) => [title, commands.map((child) => [child.name(), child.summary()])]),
      flags: rows,
    };
  }
  return {
    description,
    examples: [...examplesOf(command)],
    usage: usage(command),
    args: command.registeredArguments
      .filter((argument) => argument.description !== '')
      .map((argument) => [argument.name(), argument.description]),
    verbs: children.map((verb) => [verb.name(), verb.summary() || verb.description()]),
    flags: rows,
  };
}

function usage(command: Command): string {
  const parts = [commandPath(command)];
  if (command.commands.length > 0) parts.push('<verb>');
  for (const argument of command.registeredArguments)
    parts.push(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`);
  if (command.options.length > 0 || command.commands.length > 0) parts.push('[flags]');
  return parts.join(' ');
}

/** The words that lead to a command: `payctl app create`. */
export function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}

function visibleCommands(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((verb) => verb.name() !== 'help' || command.parent === null);
}

function optionRows(options: readonly Option[]): [string, string][] {
  return options
    .filter((option) => !option.hidden)
    .map((option) => [`${option.short ? '' : '    '}${option.flags}`, words(option)]);
}

function words(option: Option): string {
  const { description, argChoices, mandatory } = option;
  return [description, argChoices && `(${argChoices.join('|')})`, mandatory && '(required)'].filter(Boolean).join(' ');
}
