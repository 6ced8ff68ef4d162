import { Argument, type Command, type Option } from 'commander';
import type { Context, ContextOf, DescribedTree } from '../context.ts';
import { examples } from '../options.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

interface Word {
  text: string;
  help: string;
}

/** A command, with the words that the shell offers after it. */
interface Place {
  /** The path of the command, e.g. `app create`; empty for payctl. */
  path: string;
  /** The subcommands; `words` has also the choices of the arguments. */
  verbs: Word[];
  words: Word[];
  flags: Word[];
  values: Map<string, readonly string[]>;
  /** Spellings of flags with a value (`valued`) and without a value (`bare`). */
  valued: string[];
  bare: string[];
}

/** The plural of a noun, e.g. `apps`, and the noun. */
type Alias = readonly [plural: string, noun: string];

type WriteScript = (places: readonly Place[], aliases: readonly Alias[]) => string;

function completionScript(shell: Shell, program: Command, topics: readonly string[]): string {
  const places = withHelp(walk(program, ''), topics);
  const aliases = program.commands.flatMap((noun) => noun.aliases().map((plural): Alias => [plural, noun.name()]));
  const scripts: Record<Shell, WriteScript> = { bash, zsh, fish };
  return scripts[shell](places, aliases);
}

/** The words after `payctl help` are those of a command, or a topic. */
function withHelp(places: readonly Place[], topics: readonly string[]): Place[] {
  const nothing = { flags: [], values: new Map(), valued: [], bare: [] };
  const helped = places
    .filter(({ path, verbs }) => path !== '' && verbs.length > 0)
    .map(({ path, verbs }) => ({ ...nothing, path: `help ${path}`, verbs, words: verbs }));
  const known = places[0]?.verbs ?? [];
  const others = topics.filter((topic) => known.every(({ text }) => text !== topic));
  const first = [...known, ...others.map((text) => ({ text, help: 'topic' }))];
  return [...places.map((place) => (place.path === 'help' ? { ...place, words: first } : place)), ...helped];
}

function walk(command: Command, path: string): Place[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help' || path === '');
  const options = command.options.filter((option) => !option.hidden);
  const spelled = (takesValue: boolean): string[] =>
    options.filter(({ required }) => required === takesValue).flatMap(spellings);
  const verbs = children.map((child) => ({
    text: child.name(),
    help: firstSentence(child.summary() || child.description()),
  }));
  const here: Place = {
    path,
    verbs,
    words: [
      ...verbs,
      ...command.registeredArguments
        .flatMap((argument) => argument.argChoices ?? [])
        .map((text) => ({ text, help: '' })),
    ],
    flags: options.flatMap((option) =>
      spellings(option).map((text) => ({ text, help: firstSentence(option.description) })),
    ),
    values: new Map(options.flatMap((option) => wordsAfter(option))),
    valued: spelled(true),
    bare: spelled(false),
  };
  return [here, ...children.flatMap((child) => walk(child, `${path} ${child.name()}`.trim()))];
}

function spellings({ long, short }: Option): string[] {
  return [long, short].filter((flag) => flag !== undefined);
}

/** Descriptions are shortened to one sentence, because shells show one line. */
function firstSentence(text: string): string {
  return (text.split(/(?<=\.)\s/, 1)[0] ?? '').replace(/\.$/, '');
}

function wordsAfter(option: Option): [string, readonly string[]][] {
  const { argChoices } = option;
  return argChoices?.length ? spellings(option).map((flag) => [flag, argChoices]) : [];
}

function texts(words: readonly Word[] = []): string {
  return words.map(({ text }) => text).join(' ');
}

/** The word after one of these flags is its value, not a command. For example, a context may be called `app`. */
function valuedFlags(places: readonly Place[]): string[] {
  const bare = new Set(places.flatMap((place) => place.bare));
  return [...new Set(places.flatMap((place) => place.valued))].filter((flag) => !bare.has(flag));
}

function paths(places: readonly Place[]): string[] {
  return places.map(({ path }) => path).filter(Boolean);
}

/** Subcommands come first, because a flag of a subcommand overrides a global flag of the same name. */
function knownValues(places: readonly Place[]): { path: string; flag: string; words: readonly string[] }[] {
  return places.toReversed().flatMap(({ path, values }) => [...values].map(([flag, words]) => ({ path, flag, words })));
}

/**
 * The shell code that finds the current command, and whether the previous word is a flag that still needs a value. bash
 * makes three words of `--flag=value`.
 */
function findPlace(places: readonly Place[], aliases: readonly Alias[], before: string): string {
  return `  for word in ${before}; do
    if [[ "$word" == '=' ]]; then awaits=1; continue; fi
    if [[ -n "$awaits" ]]; then awaits=''; continue; fi
    case "$word" in
      ${valuedFlags(places).join('|')}) awaits=1; continue ;;
      -*) continue ;;
    esac
    case "$place $word" in
${aliases.map(([plural, noun]) => `      ' ${plural}'|'help ${plural}') word=${noun} ;;`).join('\n')}
    esac
    case " |${paths(places).join('|')}|" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done`;
}

function valueCases(places: readonly Place[], offer: (words: string) => string): string {
  return knownValues(places)
    .map(({ path, flag, words }) => {
      const pattern = path === '' ? `*' ${flag}'` : `'${path} ${flag}'`;
      return `    ${pattern}) ${offer(words.join(' '))}; return ;;`;
    })
    .join('\n');
}

function bash(places: readonly Place[], aliases: readonly Alias[]): string {
  const cases = places.map(
    ({ path, words, flags }) => `    '${path}') words='${texts(words)}' flags='${texts(flags)}' ;;`,
  );
  return `# payctl completion for bash
_payctl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} place='' awaits='' word words='' flags=''
  if [[ "$cur" == '=' ]]; then cur=''; elif [[ "$prev" == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
${findPlace(places, aliases, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=()
  case "$place $prev" in
${valueCases(places, (words) => `COMPREPLY=($(compgen -W '${words}' -- "$cur"))`)}
  esac
  if [[ -n "$awaits" ]]; then return; fi
  case "$place" in
${cases.join('\n')}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$flags ${texts(places[0]?.flags)}" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -o default -F _payctl payctl
`;
}

/** zsh could also load the bash script, but then it shows no descriptions and does not support all bash expansions. */
function zsh(places: readonly Place[], aliases: readonly Alias[]): string {
  const quoted = (words: readonly Word[] = []): string =>
    words
      .map(({ text, help }) => `${text.replaceAll(':', String.raw`\:`)}${help === '' ? '' : `:${help}`}`)
      .map((entry) => `'${entry.replaceAll("'", String.raw`'\''`)}'`)
      .join(' ');
  const cases = places
    .filter(({ path }) => path !== '')
    .map(({ path, words, flags }) => `    '${path}') verbs=(${quoted(words)}); flags=(${quoted(flags)}) ;;`);
  return `#compdef payctl
# payctl completion for zsh
_payctl() {
  local place='' awaits='' word prev="\${words[CURRENT-1]}"
  local -a verbs flags globals
${findPlace(places, aliases, '"${(@)words[2,CURRENT-1]}"')}
  if [[ "$PREFIX" == --*=* ]]; then prev="\${PREFIX%%=*}"; awaits=1; compset -P '*='; fi
  case "$place $prev" in
${valueCases(places, (words) => `compadd -- ${words}`)}
  esac
  if [[ -n "$awaits" ]]; then _files; return; fi
  globals=(${quoted(places[0]?.flags)})
  case "$place" in
    '') verbs=(${quoted(places[0]?.words)}) ;;
${cases.join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then
    flags+=("\${globals[@]}")
    _describe -o flag flags
  elif (( \${#verbs} )); then
    _describe command verbs
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _payctl ]]; then _payctl "$@"
elif (( $+functions[compdef] )); then compdef _payctl payctl
else print -u2 'payctl completion: first run "autoload -U compinit && compinit"'
fi
`;
}

function fish(places: readonly Place[], aliases: readonly Alias[]): string {
  const quote = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
  const offer = (words: readonly Word[] = []): string =>
    words.length === 0
      ? ''
      : `printf '%s\\t%s\\n' ${words.map(({ text, help }) => `${text} ${quote(help)}`).join(' ')}`;
  const values = knownValues(places).map(
    ({ path, flag, words }) =>
      `    case ${quote(path === '' ? `* ${flag}` : `${path} ${flag}`)}\n      set values ${words.join(' ')}`,
  );
  const flags = places
    .filter(({ path }) => path !== '')
    .map((place) => `      case ${quote(place.path)}\n        ${offer(place.flags)}`);
  const verbs = places.map((place) => `    case ${quote(place.path)}\n      ${offer(place.words) || FISH_FILES}`);
  return `# payctl completion for fish
function __payctl_complete
  set -l before (commandline -opc)
  set -l token (commandline -ct)
  set -l place ''
  set -l awaits ''
  set -l values
  for word in $before[2..-1]
    if test -n "$awaits"
      set awaits ''
      continue
    end
    switch $word
      case ${valuedFlags(places).join(' ')}
        set awaits 1
      case '-*'
      case '*'
        switch "$place $word"
${aliases.map(([plural, noun]) => `          case ' ${plural}' 'help ${plural}'\n            set word ${noun}`).join('\n')}
        end
        set -l next (string trim -- "$place $word")
        if contains -- $next ${paths(places).map(quote).join(' ')}
          set place $next
        end
    end
  end
  set -l last $before[-1]
  set -l head ''
  if string match -q -- '--*=*' "$token"
    set last (string split -m 1 -- = "$token")[1]
    set head "$last="
    set awaits 1
  end
  switch "$place $last"
${values.join('\n')}
  end
  if set -q values[1]
    printf '%s\\n' $head$values
    return
  end
  if test -n "$awaits"
    ${FISH_FILES}
    return
  end
  if string match -q -- '-*' "$token"
    switch $place
${flags.join('\n')}
    end
    ${offer(places[0]?.flags)}
    return
  end
  switch $place
${verbs.join('\n')}
  end
end
complete -c payctl -f -a '(__payctl_complete)'
`;
}

const FISH_FILES = '__fish_complete_path "$token"';

/** Defines `payctl completion`. */
export function define(command: Command, context: ContextOf, tree: DescribedTree): void {
  command
    .description(
      'Print the completion script for a shell. Without a file: source <(payctl completion bash), the same for zsh, or payctl completion fish | source.',
    )
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS));
  examples(
    command,
    'mkdir -p ~/.local/share/bash-completion/completions && payctl completion bash > ~/.local/share/bash-completion/completions/payctl',
    'payctl completion zsh > "${fpath[1]}/_payctl"',
    'mkdir -p ~/.config/fish/completions && payctl completion fish > ~/.config/fish/completions/payctl.fish',
  ).action((shell: Shell) => run(context(), shell, tree));
}

async function run({ terminal }: Context, shell: Shell, tree: DescribedTree): Promise<void> {
  const { TOPICS } = await import('../topics.ts');
  await terminal.out.write(completionScript(shell, await tree(), Object.keys(TOPICS)));
}
