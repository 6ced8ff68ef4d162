import type { ParseArgsOptionsConfig } from 'node:util';

/** One form of `npm run prove`. */
export interface Command {
  /** The option that chooses it. */
  name: string;
  /** How it is called, and what it does. */
  usage: string;
  /** Its options, the one that chooses it among them. */
  options: ParseArgsOptionsConfig;
  /** Prints what it found; whether all is well. */
  run(values: Readonly<Record<string, string | undefined>>): Promise<boolean>;
}
