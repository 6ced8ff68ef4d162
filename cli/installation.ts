// A service that the guide "Install" put on this machine, and the commands for it.
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
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
    const [, url = ''] = /^\s*PublicUrl\s*=\s*["']([^"']+)["']/m.exec(readFileSync(config, 'utf8')) ?? [];
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
export function asService(argv: readonly string[], installation: Installation): string {
  const unit = unitOf(installation);
  const line = pasted(argv);
  const [noun, verb] = argv.filter((word) => !word.startsWith('-'));
  const isStart = noun === 'server' && verb === 'start';
  const command =
    unit === undefined
      ? `${line} --config ${installation.config}`
      : isStart
        ? `systemctl start ${unit}`
        : besideService(line, installation);
  return `${command}\nPAY_DATABASE_URL=pglite://./data/pglite names a database of this folder instead.`;
}

const PLAIN = /^[\w.,:/@=+%-]+$/;
const WITH_PASSWORD = /:\/\/[^/]*:[^/]*@/;

/** The command line for a shell. The service's user cannot read a password file, so the shell opens it. */
function pasted(argv: readonly string[]): string {
  const end = argv.findIndex((word) => WITH_PASSWORD.test(word));
  const words = (end === -1 ? argv : argv.slice(0, end)).map((word) =>
    PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`,
  );
  return ['payctl', ...words].join(' ').replace(/ --password-file[ =](\S+|'[^']*')(.*)$/, ' --password-stdin$2 < $1');
}
