/** Splits an example into words as a shell would; redirections are taken off, the file of `<` is named. */
export function splitWords(line: string): { words: string[]; input: string | undefined } {
  const [, command = line, input] = /^(.*?)(?:\s+<\s*(\S+)|\s+>\s*\S.*)?$/.exec(line) ?? [];
  const words: string[] = [];
  for (const [, double, single, bare] of command.matchAll(/"([^"]*)"|'([^']*)'|((?:[^\s"']|"[^"]*")+)/g)) {
    words.push(double ?? single ?? (bare ?? '').replaceAll('"', ''));
  }
  return { words, input };
}
