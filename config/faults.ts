/** The configured value is left out, because it may be a secret. */
export interface ConfigFault {
  key: string;
  source?: string;
  message: string;
}

/** All faults of the configuration. The message lists the faults by key and never contains a secret. */
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

/** Makes external text printable in one line: no control characters, at most 200 characters. */
export function printable(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '?');
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}
