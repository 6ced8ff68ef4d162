/** One thing that is wrong with the configuration: which key, where it was set, what is expected; never a value. */
export interface ConfigFault {
  key: string;
  source?: string;
  message: string;
}

/** Every fault of the configuration at once; its message lists them by key and never shows a secret's value. */
export class ConfigFaults extends Error {
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super([`The configuration is invalid (${count(faults.length)}):`, ...faults.map(line)].join('\n'));
    this.name = 'ConfigFaults';
    this.faults = faults;
  }
}

function count(faults: number): string {
  return faults === 1 ? '1 error' : `${faults} errors`;
}

function line({ key, source, message }: ConfigFault): string {
  return `  ${key}: ${message}${source === undefined ? '' : ` (set in ${source})`}`;
}

/** Text that came from outside, made fit for one line of a message: no control characters, at most 200 characters. */
export function printable(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '?');
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}
