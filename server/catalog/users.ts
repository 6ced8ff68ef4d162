import { randomUUID } from 'node:crypto';
import type { PayerRow } from '../db/entities/catalog.ts';
import { type UserFilter, listUsers, userTotals } from '../db/queries/catalog.ts';
import { type Forgotten, duePayers, forgetPayer } from '../db/queries/forget.ts';
import type { Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { later } from '../payments/core/plan.ts';
import { type CatalogPorts, given, note, requireProject } from './ports.ts';

/** A change of a payer. Absent fields keep their value, and `null` clears a field. */
interface UserPatch {
  nickname?: string | null | undefined;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  status?: 'active' | 'blocked' | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

interface UserKey {
  project: string;
  userId: string;
}

/**
 * A deletion erases a payer's data in many orders and ledger entries, in several transactions (parts). The request that
 * starts the deletion runs this many parts; the background job runs the rest.
 */
const PARTS_AT_ONCE = 5;

/** The operations on payers. Only changes by an administrator (`actor`) are written to the audit log. */
export function users(ports: CatalogPorts) {
  const { store, reports, now, audit, log: report } = ports;
  const log = note(audit);
  const { forget } = forgetting(ports);
  return {
    list: (filter: UserFilter) => reports.read((tx) => listUsers(tx, filter)),
    get: (key: UserKey) => store.read((tx) => required(tx.users.find(key))),
    /** The totals are per mode (live, sandbox or simulator), channel and currency. */
    withTotals: (key: UserKey) =>
      store.read(async (tx) => ({ user: await required(tx.users.find(key)), totals: await userTotals(tx, key) })),
    upsert: (actor: Actor | undefined, key: UserKey, patch: UserPatch) =>
      store.transaction(async (tx) => {
        await requireProject(tx, key.project);
        const fresh = newRow(key, patch, now());
        const isNew = await tx.users.insertIfNew(fresh);
        if (!isNew) return { user: await change(tx, actor, key, 'user.update', () => given(patch)), isNew };
        if (actor) await log(tx, actor, 'user.create', target(key), null, facts(fresh));
        return { user: fresh, isNew };
      }),
    update: (actor: Actor | undefined, key: UserKey, patch: UserPatch) =>
      store.transaction((tx) => change(tx, actor, key, 'user.update', () => given(patch))),
    toggle: (actor: Actor, key: UserKey, enabled: boolean | undefined) =>
      store.transaction((tx) =>
        change(tx, actor, key, 'user.toggle', ({ status }) => ({
          status: (enabled ?? status === 'blocked') ? 'active' : 'blocked',
        })),
      ),
    /**
     * Erases a payer's data. The first `PARTS_AT_ONCE` parts are erased in this request; the background job erases the
     * rest and retries a part that failed. The payer's row stays, because orders and coins refer to it.
     */
    anonymise: async (actor: Actor, key: UserKey) => {
      const since = now();
      await store.transaction(async (tx) => {
        const cleared = { nickname: null, email: null, phone: null, metadata: null };
        const due = { forgetSince: since, forgetAt: since };
        await change(tx, actor, key, 'user.anonymise', () => ({ ...cleared, ...due, anonymisedAt: since }));
      });
      let parts = 0;
      const error = await forget({ ...key, since }, () => (parts += 1) < PARTS_AT_ONCE).then(
        () => undefined,
        (failed: unknown) => ({ failed }),
      );
      if (error)
        report('warn', 'the payer could not be deleted at once; the job retries', {
          project: key.project,
          error: error.failed,
        });
    },
  };

  async function change(
    tx: Tx,
    actor: Actor | undefined,
    key: UserKey,
    action: string,
    decide: (user: PayerRow) => Partial<PayerRow>,
  ): Promise<PayerRow> {
    const before = await required(tx.users.lock(key));
    const decided = decide(before);
    const isKnownAgain = ['nickname', 'email', 'phone', 'metadata'].some((name) => decided[name as keyof PayerRow]);
    const patch = { ...(isKnownAgain ? { anonymisedAt: null } : {}), ...decided, updatedAt: now() };
    await tx.users.update(key, patch);
    const after: PayerRow = { ...before, ...patch };
    if (actor) await log(tx, actor, action, target(key), facts(before), facts(after));
    return after;
  }
}

export type Users = ReturnType<typeof users>;

/** The audit log keeps entries after a payer was deleted, so it only records which fields are set, not their values. */
function facts({ project, userId, status, anonymisedAt, nickname, email, phone, metadata }: PayerRow): object {
  const has = {
    nickname: nickname !== null,
    email: email !== null,
    phone: phone !== null,
    metadata: metadata !== null,
  };
  return { project, userId, status, anonymisedAt, has };
}

function target({ project, userId }: UserKey): string {
  return `${project}/${userId}`;
}

function newRow({ project, userId }: UserKey, patch: UserPatch, at: Date): PayerRow {
  const { nickname = null, email = null, phone = null, metadata = null, status = 'active' } = patch;
  const times = { anonymisedAt: null, forgetSince: null, forgetAt: null, createdAt: at, updatedAt: at };
  return { id: randomUUID(), project, userId, nickname, email, phone, status, metadata, ...times };
}

async function required(found: Promise<PayerRow | undefined>): Promise<PayerRow> {
  const user = await found;
  if (!user) throw new NotFound('user');
  return user;
}

const PAYERS = 20;
/**
 * The time (seconds) from a deletion to its final check. Requests that were running at the deletion may still write
 * personal data; after this time all of them have ended.
 */
const SETTLED_SECONDS = 600;
/** If a payer has orders in progress, the job checks the payer again after this time (seconds). */
const AGAIN_SECONDS = 3600;

/**
 * Creates the functions that delete payers' personal data from every table. The request that demands a deletion starts
 * it. The background job continues until no personal data is left.
 */
export function forgetting({ store, now, log }: Pick<CatalogPorts, 'store' | 'now' | 'log'>) {
  return { forget, forgetDue };

  /**
   * Deletes a payer's personal data. If some is left, schedules the next run. Otherwise schedules one final check,
   * `SETTLED_SECONDS` after the request.
   */
  async function forget(payer: Forgotten, goesOn?: () => boolean): Promise<void> {
    const { left, isWhole } = await forgetPayer(store, payer, goesOn);
    if (!isWhole) return;
    const settledAt = later(payer.since, SETTLED_SECONDS);
    if (left > 0) await plan(payer, later(now(), AGAIN_SECONDS));
    else await plan(payer, now() < settledAt ? settledAt : null);
  }

  /** After a failure, schedules another run for this payer and continues with the next payer. */
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

  /**
   * Schedules the next deletion run; null = no further run. If the deletion was requested again during this run
   * (`forgetSince` has changed), nothing is written, because the newer request has its own schedule.
   */
  async function plan({ project, userId, since }: Forgotten, forgetAt: Date | null): Promise<void> {
    await store.autocommit((tx) => tx.users.update({ project, userId, forgetSince: since }, { forgetAt }));
  }
}
