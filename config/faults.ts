/** The configured value is left out, because it may be a secret. */
export interface ConfigFault {
  key: string;
  source?: string;
  message: string;
  /** The file that cannot be read, and the code of the system error. */
  file?: { path: string; code: string };
}

/** No source names a database on a machine with an installed service, whose configuration the command was not given. */
export class DatabaseNotNamed extends Error {
  readonly code = 'database_not_named';

  constructor(installed: string, folder: string) {
    super(
      `${installed} belongs to the service that is installed on this machine, but this command has neither its configuration nor its environment: it would use another database, ${folder}. Nothing was done.`,
    );
    this.name = 'DatabaseNotNamed';
  }
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
