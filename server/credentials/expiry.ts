import { endingCerts } from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import { isRoot } from './cert-parse.ts';
import type { HealthPorts } from './channels.ts';
import { EXPIRY_DAYS } from './status.ts';

const DAY = 86_400_000;

/** A certificate in use that ends soon, or has ended (`daysLeft` ≤ 0). */
export interface EndingCert {
  id: string;
  project: string;
  payWay: string;
  kind: string;
  daysLeft: number;
}

/** Whole days until a certificate ends, rounded down; null when it never does. */
export function daysLeft({ notAfter }: { notAfter: Date | null }, now: Date): number | null {
  return notAfter && Math.floor((notAfter.getTime() - now.getTime()) / DAY);
}

/**
 * For the `certificate-expiry` job: names every certificate in use that ends within 30 days and marks its channel, which is
 * `degraded` from then on. Roots may be expired.
 */
export async function watchExpiry({
  store,
  now,
  log,
}: {
  store: Store;
  now: () => Date;
  log: HealthPorts['log'];
}): Promise<EndingCert[]> {
  const at = now();
  const until = new Date(at.getTime() + EXPIRY_DAYS * DAY);
  return store.transaction(async (tx) => {
    const ending = (await endingCerts(tx, until)).filter(({ kind }) => !isRoot(kind));
    for (const [, [first]] of Map.groupBy(ending, ({ project, payWay }) => `${project} ${payWay}`)) {
      if (!first) continue;
      const { project, payWay, notAfter } = first;
      await tx.channelStates.update({ project, payWay }, { certsExpireAt: notAfter });
    }
    return ending.map((cert) => {
      const { id, project, payWay, kind } = cert;
      const shown = { id, project, payWay, kind, daysLeft: daysLeft(cert, at) ?? 0 };
      log(shown.daysLeft < 0 ? 'error' : 'warn', 'a certificate in use expires soon', { ...shown });
      return shown;
    });
  });
}
