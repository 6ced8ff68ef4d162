import { duePayers, type Forgotten, forgetPayer } from '../db/queries/forget.ts';
import { later } from '../payments/core/plan.ts';
import type { CatalogPorts } from './ports.ts';

/** So many payers are looked up at once. */
const PAYERS = 20;
/** What a request or a message log had in hand when the payer was deleted is in the database after this long. */
const SETTLED_SECONDS = 600;
/** Orders that are under way are looked at again after this long. */
const AGAIN_SECONDS = 3600;

/** Forgets payers wherever they are named: as far as it goes at once, and by the job until nothing is left. */
export function forgetting({ store, now, log }: Pick<CatalogPorts, 'store' | 'now' | 'log'>) {
  return { forget, forgetDue };

  /** One walk; what is left, and a last look, is planned. */
  async function forget(payer: Forgotten, goesOn?: () => boolean): Promise<void> {
    const { left, isWhole } = await forgetPayer(store, payer, goesOn);
    if (!isWhole) return;
    const settledAt = later(payer.since, SETTLED_SECONDS);
    if (left > 0) await plan(payer, later(now(), AGAIN_SECONDS));
    else await plan(payer, now() < settledAt ? settledAt : null);
  }

  /** For the timetable: whoever is due, one after the other; one that fails keeps none of the others. */
  async function forgetDue(goesOn: () => boolean): Promise<void> {
    for (;;) {
      const payers = await store.read((tx) => duePayers(tx, now(), PAYERS));
      for (const payer of payers) {
        if (!goesOn()) return;
        await forget(payer, goesOn).catch(async (error: unknown) => {
          log('error', 'a payer could not be forgotten', { project: payer.project, error });
          await plan(payer, later(now(), SETTLED_SECONDS));
        });
      }
      if (payers.length < PAYERS) return;
    }
  }

  /** A payer who was deleted once more meanwhile has a time of their own. */
  async function plan({ project, userId, since }: Forgotten, forgetAt: Date | null): Promise<void> {
    await store.autocommit((tx) => tx.users.update({ project, userId, forgetSince: since }, { forgetAt }));
  }
}
