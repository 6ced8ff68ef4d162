import { approvers } from '../db/queries/approvals.ts';
import { clockAhead, failingWebhooks, secondFactors, silentNotices } from '../db/queries/diagnosis.ts';
import { countDue, lookForDue } from '../db/queries/due.ts';
import { listensElsewhere } from '../http/address.ts';
import type { DueKind } from '../jobs/due-kind.ts';
import { diagnosisRoutes } from '../routes/diagnosis.ts';
import type { RouteGroup } from '../http/router.ts';
import type { Base } from './base.ts';

/** Assembles what `payctl doctor` asks the service about itself. */
export function composeDiagnosis({ config, store, now }: Base, kinds: readonly DueKind[]): RouteGroup {
  const tables = kinds.map(({ rows }) => rows);
  return diagnosisRoutes({
    diagnose: () =>
      store.read(async (tx) => {
        const rows = await countDue(
          tx,
          tables.map(({ waiting }) => waiting),
          now(),
        );
        const lags = await lookForDue(tx, tables, now());
        return {
          production: config.production,
          consoleOpen: config.server.adminNetworks.length === 0,
          explorer: config.explorer.enabled,
          listensElsewhere: listensElsewhere(config.server, config.server.listen),
          secondFactors: { required: config.admin.requireSecondFactor, ...(await secondFactors(tx)) },
          clockAheadSeconds: await clockAhead(tx),
          due: kinds.flatMap(({ name: kind }, at) =>
            rows[at] ? [{ kind, rows: rows[at], lagSeconds: Math.max(0, lags[at] ?? 0) }] : [],
          ),
          approvers: config.approval.refundAbove === 0 ? null : await approvers(tx, now()),
          failingWebhooks: await failingWebhooks(tx, now()),
          silentNotices: await silentNotices(tx, { now: now(), simulated: config.simulated }),
        };
      }),
  });
}
