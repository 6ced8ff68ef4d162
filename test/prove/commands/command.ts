import type { ParseArgsOptionsConfig } from 'node:util';

/** One form of `npm run prove`. */
export interface Command {
  /** The option that selects it. */
  name: string;
  /** Its usage line and description. */
  usage: string;
  /** Its options, including the one that selects it. */
  options: ParseArgsOptionsConfig;
  /** Prints the findings; resolves to whether all is well. */
  run(values: Readonly<Record<string, string | undefined>>): Promise<boolean>;
}
