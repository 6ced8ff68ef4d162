import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { type ConfigFault, printable } from './faults.ts';
import { environmentName, type KeyName, keyNames, keys } from './schema.ts';
import { nearest } from './nearest.ts';

/** A configured value, its source, and the base folder for relative paths in the value. */
export interface Setting {
  value: unknown;
  source: string;
  base: string;
}

export interface Layer {
  settings: Map<KeyName, Setting>;
  faults: ConfigFault[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const largestFile = 1024 * 1024;
const known = new Set<string>(keyNames);

/** Reads a text file. Error messages never contain the content, which may be a secret. */
function readText(path: string): string {
  const file = statSync(path);
  if (!file.isFile() && !file.isFIFO()) throw new Error('is not a file');
  if (file.size > largestFile) throw new Error('is larger than 1 MiB');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) throw new Error('is not UTF-8 text', { cause: error });
    throw error;
  }
}

function reason(error: unknown): string {
  if (error instanceof TomlError) return `is not valid TOML (line ${error.line}, column ${error.column})`;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  return code === undefined ? printable(message) : `cannot be read (${code})`;
}

/** Reads a TOML file. An unknown key is a fault, with the nearest known key as a hint. */
export function readTomlLayer(path: string, base = dirname(path)): Layer {
  const layer: Layer = { settings: new Map(), faults: [] };
  try {
    for (const [key, value] of flatten(parse(readText(path)))) {
      if (isKey(key)) layer.settings.set(key, { value, source: path, base });
      else layer.faults.push({ key: printable(key), source: path, message: unknown('key', key, keyNames) });
    }
  } catch (error) {
    layer.faults.push({ key: '(file)', message: `${printable(path)} ${reason(error)}`, ...unread(path, error) });
  }
  return layer;
}

function flatten(document: object): [string, unknown][] {
  return Object.entries(document).flatMap(([section, value]): [string, unknown][] =>
    isTable(value) && !isKey(section)
      ? Object.entries(value).map(([key, inner]) => [`${section}.${key}`, inner])
      : [[section, value]],
  );
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isKey(name: string): name is KeyName {
  return known.has(name);
}

function unknown(kind: string, name: string, all: readonly string[]): string {
  const hint = nearest(name, all);
  return `unknown ${kind}${hint === undefined ? '' : `; did you mean ${hint}?`}`;
}

/** `PAY_…` variables that are not configuration keys: `load.ts` reads `PAY_CONFIG`, and the tests read `PAY_TEST_…`. */
const elsewhere = /^PAY_(CONFIG$|TEST_)/;

/** Whether Kubernetes set the variable for a service named `pay` or `pay-…`. */
function isServiceLink(name: string, text: string): boolean {
  if (/_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text);
}

/**
 * Reads the `PAY_…` variables. An empty variable counts as not set. A variable that ends in `_FILE` names a file with
 * the value. An unknown name is a fault.
 */
export function readEnvironmentLayer(env: Environment, cwd: string): Layer {
  const layer: Layer = { settings: new Map(), faults: [] };
  const names = new Map(keyNames.flatMap((key) => variables(key).map((name) => [name, key] as const)));
  for (const [name, value] of Object.entries(env)) {
    const text = withoutLineEnd(value ?? '');
    if (text === '' || !name.startsWith('PAY_') || elsewhere.test(name)) continue;
    const key = names.get(name);
    if (key !== undefined) readVariable(layer, key, { name, text, env, cwd });
    else if (!isServiceLink(name, text))
      layer.faults.push({ key: printable(name), message: unknown('environment variable', name, [...names.keys()]) });
  }
  return layer;
}

function withoutLineEnd(text: string): string {
  return text.replace(/[\r\n]+$/, '');
}

function variables(key: string): [string, string] {
  return [environmentName(key), `${environmentName(key)}_FILE`];
}

interface Variable {
  name: string;
  text: string;
  env: Environment;
  cwd: string;
}

function readVariable(layer: Layer, key: KeyName, { name, text, env, cwd }: Variable): void {
  const [plain, file] = variables(key);
  if (env[plain] && env[file]) {
    // This function runs once for the variable and once for its `_FILE` variant. Only the run for the variable without
    // `_FILE` adds the fault, so that it is reported once.
    if (name === plain) layer.faults.push({ key, message: `both ${plain} and ${file} are set; set only one` });
    return;
  }
  if (name === plain) {
    layer.settings.set(key, { value: take(key, text), source: name, base: cwd });
    return;
  }
  const path = resolve(cwd, text);
  try {
    const content = withoutLineEnd(readText(path));
    if (content === '') throw new Error('is empty');
    layer.settings.set(key, { value: take(key, content), source: name, base: dirname(path) });
  } catch (error) {
    if (!isPath(text, cwd)) layer.faults.push({ key, source: name, message: `names a file that ${reason(error)}` });
    else {
      const message = `names ${printable(path)}, which ${reason(error)}`;
      layer.faults.push({ key, source: name, message, ...unread(path, error) });
    }
  }
}

/**
 * Whether a text is a path and not a secret that an operator put into the variable by mistake: it has folders, and the
 * first of them exists.
 */
function isPath(text: string, cwd: string): boolean {
  const [first, ...rest] = text.split('/').filter((part) => part !== '');
  return first !== undefined && rest.length > 0 && existsSync(resolve(text.startsWith('/') ? '/' : cwd, first));
}

function unread(path: string, error: unknown): Pick<ConfigFault, 'file'> {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error instanceof TomlError ? {} : { file: { path, code } };
}

/** Text that does not match the kind of the key (e.g. `yes` for a flag) stays text, and the schema refuses it. */
function take(key: KeyName, text: string): unknown {
  switch (keys[key].kind) {
    case 'flag':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'number':
      return /^\d{1,15}$/.test(text) ? Number(text) : text;
    case 'list':
      return text.split(/[,\r\n]+/).flatMap((item) => item.trim() || []);
    case 'text':
      return text;
  }
}
