import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { command } from '../../hints.ts';
import { say } from '../../language.ts';
import type { Diagnosed } from '../../../server/offline/port.ts';
import {
  attempt,
  channelName,
  clockFinding,
  degraded,
  failed,
  inProject,
  ok,
  unreadable,
  type Finding,
} from './finding.ts';

/** Work of one kind that is due, but that no worker has started. */
interface Due {
  kind: string;
  rows: number;
  lagSeconds: number;
}

const LATE_SECONDS = 60;
/** After this time work counts as stuck. The alert in config/deploy/alert-rules.yml has the same threshold. */
const STUCK_SECONDS = 300;

/** Reads the self-diagnosis of a running service, and converts it into check results. */
export async function checkDiagnosis({ api }: Context): Promise<Finding[]> {
  const found = await attempt(() => api.get('/api/v1/diagnosis'));
  if (found instanceof CliError) return unreadable('diagnosis', found);
  const { due, ...diagnosed } = found as unknown as Diagnosed & { due: Due[] };
  return [...dueFindings(due), ...diagnosisFindings(diagnosed)];
}

/** Converts the self-diagnosis into check results. `payctl doctor --offline` prints the same results. */
export function diagnosisFindings(diagnosed: Diagnosed): Finding[] {
  return [
    ...links(diagnosed),
    ...exposed(diagnosed),
    ...clockFinding(say`the server and its database`, diagnosed.clockAheadSeconds),
    ...webhooks(diagnosed),
    ...approverFindings(diagnosed),
    ...diagnosed.silentNotices.map(silent),
  ];
}

function dueFindings(due: readonly Due[]): Finding[] {
  const late = due.filter(({ lagSeconds }) => lagSeconds >= LATE_SECONDS);
  if (late.length === 0) return [ok('due work', say`none waits`)];
  return late.map(({ kind, rows, lagSeconds }) => {
    const make = lagSeconds >= STUCK_SECONDS ? failed : degraded;
    const why =
      kind === 'delivery' ? say`the findings about webhooks may say why` : say`the findings about channels may say why`;
    return make(
      'due work',
      say`${rows} of the kind ${kind} wait, the oldest for ${Math.round(lagSeconds)} s; ${why}`,
      say`raise Server.Workers, or start another replica`,
    );
  });
}

function links({ listensElsewhere: place }: Diagnosed): Finding[] {
  if (place === null) return [];
  return [
    degraded(
      'public url',
      say`links of payers lead to another port of this machine than the service, which listens on ${place}`,
      say`set Server.PublicUrl to the address at which payers and channels reach the service`,
    ),
  ];
}

function exposed({ production, consoleOpen, explorer, secondFactors }: Diagnosed): Finding[] {
  if (!production) return [];
  return [
    consoleOpen
      ? degraded(
          'console',
          say`/api/v1 answers every address`,
          say`set Server.AdminNetworks to the networks of administrators`,
        )
      : ok('console', say`answers the networks of Server.AdminNetworks`),
    ...(explorer
      ? [degraded('explorer', say`the API explorer is on in production`, say`set Explorer.Enabled = false`)]
      : []),
    factors(secondFactors),
  ];
}

function factors({ required, administrators, without }: Diagnosed['secondFactors']): Finding {
  if (required) return ok('second factors', say`required of every administrator`);
  return degraded(
    'second factors',
    without === 1
      ? say`1 of ${administrators} administrators has none, and none is required`
      : say`${without} of ${administrators} administrators have none, and none is required`,
    command('payctl second-factor enable', say`Then set Admin.RequireSecondFactor = true.`),
  );
}

function webhooks({ failingWebhooks }: Diagnosed): Finding[] {
  if (failingWebhooks.length === 0) return [ok('webhooks', say`all arrive`)];
  return failingWebhooks.map(({ clientId, retrying, givenUp, lastError }) =>
    degraded(
      'webhooks',
      say`${clientId}: ${retrying} deliveries failed and are retried, ${givenUp} were given up within a day (${lastError ?? say`unknown`})`,
      `payctl app webhook deliveries ${clientId}`,
    ),
  );
}

/** `approvers` counts the accounts that can approve a request of at least one other account. */
function approverFindings({ approvers }: Diagnosed): Finding[] {
  if (approvers === null || approvers > 1) return [];
  return [
    degraded(
      'approvers',
      approvers === 0
        ? say`no administrator can approve the requests of another one: they can only be rejected`
        : say`only one administrator can approve requests: those of that administrator can only be rejected`,
      say`create an account with payctl bootstrap apply on the machine of the service; an account that an administrator created counts after 30 days`,
    ),
  ];
}

function silent({ project, payWay, payments }: Diagnosed['silentNotices'][number]): Finding {
  return failed(
    'notices',
    say`${channelName(project, payWay)}: the channel notified none of the last ${payments} payments, so the service learned of them only by queries; Server.PublicUrl with /notify/${payWay}/${project} must be reachable from the internet and registered at the channel`,
    `payctl channel test ${payWay}${inProject(project)}`,
  );
}
