import type { AdminRow } from '../db/entities/identity.ts';

/** What administrators may be, from the least to the most. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

/** A viewer reads; an operator moves money (orders, refunds, exceptions, disputes, bills); an admin may do everything. */
export type Role = (typeof ROLES)[number];

/** The columns that say what an account may do. */
export type RoleColumns = Pick<AdminRow, 'role' | 'grade' | 'projects'>;

/**
 * How a role is stored: the release before reads `role` alone, so it is `viewer` where that release would let the account do
 * more than it may.
 */
export function roleColumns(role: Role, projects: readonly string[] | null): RoleColumns {
  const kept = projects && projects.length > 0 ? [...new Set(projects)].toSorted() : null;
  const isKnown = role === 'viewer' || (role === 'admin' && kept === null);
  return { role: isKnown ? role : 'viewer', grade: isKnown ? null : role, projects: kept };
}

/** The role of an account; a promotion by a replica of the release before counts. */
export function roleOf({ role, grade }: Pick<AdminRow, 'role' | 'grade'>): Role {
  return role === 'viewer' ? (grade ?? 'viewer') : role;
}
