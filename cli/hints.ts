// Hints: the next step after an error. In a hint, a command ends at the end of its line, so that it can be pasted.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Installation, isInstalledAt, unitOf } from './installation.ts';
import { type Phrase, type Text, joined, say } from './language.ts';
import { type Target, type TargetFlags, isThisMachine } from './settings.ts';
import type { Row } from './values.ts';

/** A command, and in the next line a sentence about it. */
export function command(line: Text, sentence: Text): Phrase {
  return joined([line, sentence], '\n');
}

interface Shell {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Advises to start the service: the installed one of this machine, the one of the quick start, or another. */
export function startService(
  { server, origin }: Pick<Target, 'server' | 'origin'>,
  { installation, terminal }: { installation: Installation; terminal: Shell },
): Phrase {
  const unit = unitOf(installation);
  if (unit !== undefined && isInstalledAt(origin, installation))
    return joined(
      [
        `systemctl status ${unit}`,
        say`Its log: ${`journalctl -u ${unit} -n 50`}`,
        say`If ${server} is the wrong address, add --server URL.`,
      ],
      '\n',
    );
  if (!isThisMachine(origin))
    return command(
      'payctl server start',
      say`On the machine of the service. If ${server} is the wrong address, add --server URL.`,
    );
  const quick = quickStart(terminal);
  if (quick !== undefined)
    return command(
      quick,
      say`Without PAY_DEBUG=true the service trusts no key of the simulator. If ${server} is the wrong address, add --server URL.`,
    );
  return command(
    'payctl server start',
    say`The quick start of the README starts it with PAY_DEBUG=true npm start instead. If ${server} is the wrong address, add --server URL.`,
  );
}

/**
 * The start of the README, in a checkout or beside the folder of a simulator, if nothing names another database. Whether
 * the database has channels of the simulator is not read, because that takes seconds.
 */
function quickStart({ cwd, env }: Shell): string | undefined {
  const names = ['PAY_CONFIG', 'PAY_DATABASE_URL', 'PAY_DATABASE_URL_FILE'];
  const has = (...path: string[]): boolean => existsSync(join(cwd, ...path));
  if (names.some((name) => env[name]) || has('config', 'local.toml')) return undefined;
  if (has('bin', 'payctl.ts') && has('config', 'default.toml')) return 'PAY_DEBUG=true npm start';
  return has('data', 'simulator') ? 'PAY_DEBUG=true payctl server start' : undefined;
}

/** The request that the service refused. */
interface Refused {
  path: string;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
}

interface Known {
  orderNo: string | undefined;
  payWay: string | undefined;
  userId: string | undefined;
  project: string | undefined;
  isMerchant: boolean;
}

const readOrder = ({ orderNo }: Known): string => (orderNo ? `payctl order get ${orderNo}` : 'payctl order list');

/** Hints for error codes that the service sends without a hint. An application can neither test nor list channels. */
const ADVICE: Readonly<Record<string, (known: Known) => string | undefined>> = {
  channel_disabled: ({ isMerchant }) =>
    isMerchant ? 'an administrator of the service can enable the channel' : 'payctl channel list',
  channel_not_configured: ({ isMerchant }) =>
    isMerchant ? 'an administrator of the service can configure the channel' : 'payctl channel list',
  channel_refused: ({ isMerchant, payWay, project }) => {
    if (isMerchant) return 'correct what the channel reports, or offer the payer another channel';
    const ofProject = project && project !== 'default' ? ` --project ${project}` : '';
    return payWay ? `payctl channel test ${payWay}${ofProject}` : 'payctl channel list';
  },
  order_already_paid: ({ orderNo }) => orderNo && `payctl refund create ${orderNo}`,
  order_not_paid: readOrder,
  refund_exceeds_refundable: readOrder,
  refund_in_progress: readOrder,
  refunds_blocked: (known) => {
    if (known.isMerchant) return readOrder(known);
    return known.orderNo ? `payctl exception list --order ${known.orderNo}` : 'payctl exception list --state open';
  },
  in_use: () => 'disable it instead',
  project_disabled: ({ isMerchant }) => (isMerchant ? undefined : 'payctl project list'),
  user_blocked: ({ isMerchant, userId }) => (isMerchant || !userId ? undefined : `payctl user enable ${userId}`),
};

/** The hint for an error code of the service, with the names of its answer and of the refused request. */
export function adviceFor(code: string, answer: Row, { path, query = {}, body }: Refused): string | undefined {
  const sent = typeof body === 'object' && body !== null ? (body as Row) : {};
  const channel = typeof answer['channel'] === 'object' ? ((answer['channel'] ?? {}) as Row) : {};
  const [, ofPath] = /\/(?:orders|query|close)\/([^/]+)/.exec(path) ?? [];
  return ADVICE[code]?.({
    orderNo: word(answer['orderNo'], sent['orderNo'], ofPath),
    payWay: word(channel['payWay'], answer['payWay'], sent['payWay']),
    userId: word(answer['userId'], sent['userId']),
    project: word(answer['project'], query['project'], sent['project']),
    isMerchant: path.startsWith('/api/v2/'),
  });
}

/** The first value that needs no quotes in a shell. */
function word(...candidates: readonly unknown[]): string | undefined {
  return candidates.find((one): one is string => typeof one === 'string' && /^\w[\w.@-]*$/.test(one));
}

/** Whether npx runs payctl, which is then seldom a command of the shell. */
function isNpx({ npm_lifecycle_event: event, npm_lifecycle_script: script = '' }: Shell['env']): boolean {
  return event === 'npx' && /^['"]?payctl\b/.test(script);
}

/** In a text, the commands as this run was called: `npx payctl …` below npx. */
export function asCalled(text: string, env: Shell['env']): string {
  return isNpx(env) ? text.replaceAll(/(?<=^|[:：] ?|&& |=true |then )payctl (?=[a-z-])/gm, 'npx payctl ') : text;
}

/** Commands that use no saved server, or that name their own. */
const ELSEWHERE =
  /^payctl (server|bootstrap|keys|completion|config|contexts?|help|version|simulator)\b| (--server|-C|--offline|--help)\b/;

/** Repeats --server or -C of this run in the commands of a hint; without it they would use another server. */
export function repeatTarget(hint: string, { server, context }: TargetFlags, target: Target | undefined): string {
  const place = server ?? context;
  if (place === undefined || !/^[\w:/.[\]~%@-]+$/.test(place)) return hint;
  const flagFor = (line: string): string => {
    if (server !== undefined) return ` --server ${server}`;
    // With -C, a login would renew the login of that context, which may be an application's.
    return /^payctl (login|app update)/.test(line) && target ? ` --server ${target.server}` : ` -C ${context}`;
  };
  return hint
    .split('\n')
    .map((text) =>
      text.replace(/(?<=^|[:：] ?|&& )payctl [a-z].*$/, (line) =>
        ELSEWHERE.test(line) ? line : `${line}${flagFor(line)}`,
      ),
    )
    .join('\n');
}
