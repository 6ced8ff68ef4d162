import type { Command, Option } from 'commander';
import type { Shell } from './commands/completion.ts';
import { UsageError } from './errors.ts';
import { buildWholeProgram } from './program.ts';
import type { Sink } from './terminal.ts';

/** What can follow a command. */
interface Place {
  /** The words that lead here, e.g. `app create`; empty for the program itself. */
  path: string;
  words: string[];
  flags: string[];
  /** Words that can follow a flag. */
  values: Map<string, readonly string[]>;
}

/** The completion script of a shell, made from the tree of commands. */
export async function completionScript(shell: Shell, out: Sink): Promise<string> {
  const program = await buildWholeProgram(out, () => {
    throw new UsageError('Completion runs nothing.');
  });
  const places = walk(program, '');
  const scripts: Record<Shell, (places: readonly Place[]) => string> = { bash, zsh, fish, powershell };
  return scripts[shell](places);
}

function walk(command: Command, path: string): Place[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || path === '');
  const options = command.options.filter((option) => !option.hidden);
  const here: Place = {
    path,
    words: [
      ...children.map((child) => child.name()),
      ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ],
    flags: options.flatMap((option) => [option.long, option.short].filter((flag) => flag !== undefined)),
    values: new Map(options.flatMap((option) => wordsAfter(option))),
  };
  return [here, ...children.flatMap((child) => walk(child, `${path} ${child.name()}`.trim()))];
}

/** The words after each spelling of a flag. */
function wordsAfter({ short, long, argChoices }: Option): [string, readonly string[]][] {
  if (!argChoices?.length) return [];
  return [short, long].filter((flag) => flag !== undefined).map((flag) => [flag, argChoices]);
}

function globalFlags(places: readonly Place[]): string[] {
  return places[0]?.flags ?? [];
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words, flags }) => `    '${path}') words='${words.join(' ')}' flags='${flags.join(' ')}' ;;`,
  );
  // Global flags come last: they stand anywhere, but a verb's own flag of that name wins.
  const values = places.toReversed().flatMap(({ path, values: known }) =>
    [...known].map(([flag, words]) => {
      const place = path === '' ? `*' ${flag}'` : `'${path} ${flag}'`;
      return `    ${place}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur")); return ;;`;
    }),
  );
  return `# payctl completion for bash
_payctl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path='' word words='' flags=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) case " ${allPaths(places)} " in *"|\${path:+$path }$word|"*) path="\${path:+$path }$word" ;; esac ;; esac
  done
  case "$path $prev" in
${values.join('\n')}
  esac
  case "$path" in
${cases.join('\n')}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$flags ${globalFlags(places).join(' ')}" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -o default -F _payctl payctl
`;
}

function allPaths(places: readonly Place[]): string {
  return `|${places
    .map(({ path }) => path)
    .filter(Boolean)
    .join('|')}|`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef payctl
autoload -U +X bashcompinit && bashcompinit
${bash(places).replace('# payctl completion for bash', '# the bash completion, run by zsh')}`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, flags, values }) => {
    const when =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    const wordLines = words.length > 0 ? [`complete -c payctl -f -n '${when}' -a '${words.join(' ')}'`] : [];
    const flagLines = flags
      .filter((flag) => flag.startsWith('--'))
      .map((flag) => {
        const known = values.get(flag);
        return `complete -c payctl${path === '' ? '' : ` -n '${when}'`} -l ${flag.slice(2)}${known ? ` -x -a '${known.join(' ')}'` : ''}`;
      });
    return [...wordLines, ...flagLines];
  });
  return `# payctl completion for fish\n${lines.join('\n')}\n`;
}

function powershell(places: readonly Place[]): string {
  const table = places.map(({ path, words, flags }) => `    '${path}' = '${[...words, ...flags].join(' ')}'`);
  return `# payctl completion for PowerShell
Register-ArgumentCompleter -Native -CommandName payctl -ScriptBlock {
  param($word, $ast, $cursor)
  $table = @{
${table.join('\n')}
  }
  $path = ''
  foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {
    $next = "$path $element".Trim()
    if ($table.ContainsKey($next)) { $path = $next }
  }
  ($table[$path] + ' ' + '${globalFlags(places).join(' ')}') -split ' ' | Where-Object { $_ -like "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`;
}
