/** One stage of a Dockerfile: its base image, name and instructions in order. */
export interface Stage {
  from: string;
  name: string | undefined;
  steps: { instruction: string; text: string }[];
}

/** Parses a Dockerfile; removes comments and joins continued lines. */
export function readDockerfile(text: string): { args: string[]; stages: Stage[] } {
  const lines = text
    .replaceAll(/^#.*$/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const args: string[] = [];
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, instruction, rest = ''] = /^([A-Z]+) (.+)$/.exec(line.trim()) ?? [];
    if (instruction === undefined) continue;
    if (instruction === 'FROM') {
      const [, from = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ from, name, steps: [] });
    } else if (stages.length === 0) args.push(rest);
    else stages.at(-1)!.steps.push({ instruction, text: rest });
  }
  return { args, stages };
}
