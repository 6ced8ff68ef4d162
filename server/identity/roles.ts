/** What administrators may be, from the least to the most. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

/** A viewer reads; an operator moves money (orders, refunds, exceptions, disputes, bills); an admin may do everything. */
export type Role = (typeof ROLES)[number];

/** The projects of an account as they are stored; null = all of them. */
export function storedProjects(projects: readonly string[] | null): string[] | null {
  return projects && [...new Set(projects)].toSorted();
}
