// A service that the guide "Install" put on this machine, and the commands for it.
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, resolve } from 'node:path';
import { textFrom } from './files.ts';
import { isThisMachine } from './settings.ts';

/** The configuration and the systemd unit of the service, and the wrapper for commands beside it. */
export interface Installation {
  config: string;
  unit: string;
  wrapper: string;
}

export const INSTALLATION: Installation = {
  config: '/etc/pay/pay.toml',
  unit: '/etc/systemd/system/pay.service',
  wrapper: '/usr/local/sbin/as-pay',
};

const NOTHING: Installation = { config: '', unit: '', wrapper: '' };

/** The installed service that a run is about; one without files if the run names another configuration or database. */
export function installationOf(
  installed: Installation,
  { argv, cwd, env }: { argv: readonly string[]; cwd: string; env: Readonly<Record<string, string | undefined>> },
): Installation {
  const at = argv.findIndex((word) => /^--config(=|$)/.test(word));
  const flag = at === -1 ? undefined : (/^--config=(.*)$/s.exec(argv[at] ?? '')?.[1] ?? argv[at + 1]);
  const named = flag || env['PAY_CONFIG'];
  if (named) return resolve(cwd, named) === installed.config ? installed : NOTHING;
  return env['PAY_DATABASE_URL'] || env['PAY_DATABASE_URL_FILE'] ? NOTHING : installed;
}

/** Whether this process runs as the user of the unit. Only then may it change the access to the files of the service. */
export function isServiceUser({ unit }: Installation): boolean {
  try {
    const [, user] = /^User=(.+)$/m.exec(textFrom(readFileSync(unit), unit)) ?? [];
    return user === undefined || user.trim() === userInfo().username;
  } catch {
    return true;
  }
}

/** The name of the systemd unit on this machine; undefined if there is none. */
export function unitOf({ unit }: Installation): string | undefined {
  return existsSync(unit) ? basename(unit, '.service') : undefined;
}

/** Whether the installed service answers at this origin: at an address of this machine, or at its public URL. */
export function isInstalledAt(origin: string, { config }: Installation): boolean {
  return isThisMachine(origin) || publicOrigin(config) === origin;
}

function publicOrigin(config: string): string | undefined {
  try {
    const [, url = ''] = /^\s*PublicUrl\s*=\s*["']([^"']+)["']/m.exec(textFrom(readFileSync(config), config)) ?? [];
    return URL.canParse(url) ? new URL(url).origin : undefined;
  } catch {
    return undefined;
  }
}

/** A command as the user of the service, with the environment of its unit; the bare command if there is no unit. */
export function besideService(line: string, installation: Installation): string {
  const unit = unitOf(installation);
  if (unit === undefined) return line;
  if (existsSync(installation.wrapper)) return `${basename(installation.wrapper)} ${line}`;
  return `cd / && runuser -u ${unit} -- env $(systemctl show ${unit} --property=Environment --value) ${line}`;
}

/** Commands that work on the database of the service. */
const OFFLINE = /^payctl (server (migrate|backup|restore-check)|bootstrap|keys rotate)\b| --offline\b/;

/** Beside an installed service, the commands of a hint are those of its unit, and offline ones run as its user. */
export function asInstalled(hint: string, installation: Installation, origin?: string): string {
  const unit = /\bpayctl /.test(hint) ? unitOf(installation) : undefined;
  if (unit === undefined || (origin !== undefined && !isInstalledAt(origin, installation))) return hint;
  return hint
    .split('\n')
    .map((text) =>
      text.replace(/(?<=^|[:：] ?)payctl [a-z].*$/, (line) => {
        if (/^payctl server start\b/.test(line)) return `systemctl restart ${unit}`;
        return OFFLINE.test(line) ? besideService(line, installation) : line;
      }),
    )
    .join('\n');
}

/** The hint for a command that would use another database than the installed service. */
export function asService(argv: readonly string[], installation: Installation, cwd: string): string {
  const line = lineOfService(argv, installation, cwd);
  const usesFiles = !line.startsWith('systemctl') && argv.some((word) => FILES.test(word));
  return [
    line,
    ...(usesFiles && unitOf(installation) !== undefined
      ? [
          'The command runs in / as the user of the service: give its files with their whole paths, in folders of this user.',
        ]
      : []),
    'PAY_DATABASE_URL=pglite://./data/pglite names a database of this folder instead.',
  ].join('\n');
}

/** The words that name files which the command reads or writes by itself. */
const FILES = /^(--(?!password)[\w-]*file(=|$)|-f$|backup$|restore-check$)/;

/** A command line for the service: its unit instead of a start, otherwise the line as the user of the service. */
export function lineOfService(argv: readonly string[], installation: Installation, cwd: string): string {
  const unit = unitOf(installation);
  const line = pasted(argv, cwd);
  if (unit === undefined) return `${line} --config ${installation.config}`;
  const isStart = argv.some((word, at) => word === 'server' && argv[at + 1] === 'start');
  return isStart ? `systemctl start ${unit}` : besideService(line, installation);
}

const PLAIN = /^[\w.,:/@=+%-]+$/;
const WITH_PASSWORD = /:\/\/[^/]*:[^/]*@/;

/** The command line for a shell. The service's user cannot read a password file, so the shell opens it. */
function pasted(argv: readonly string[], cwd: string): string {
  const end = argv.findIndex((word) => WITH_PASSWORD.test(word));
  const words = end === -1 ? [...argv] : argv.slice(0, end);
  const at = words.findIndex((word) => /^--password-file(=|$)/.test(word));
  let input = '';
  if (at !== -1) {
    const own = /^--password-file=(.*)$/s.exec(words[at] ?? '')?.[1];
    const [, path = own] = words.splice(at, own === undefined ? 2 : 1, '--password-stdin');
    if (path) input = ` < ${quoted(resolve(cwd, path))}`;
  }
  return ['payctl', ...words.map(quoted)].join(' ') + input;
}

/** A word for a shell. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
