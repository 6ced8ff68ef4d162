import { z } from 'zod';
import type { ProjectRow } from '../../catalog/ports.ts';
import { requireConfirmed } from '../../http/authenticate.ts';
import type { Caller, RequestFacts } from '../../http/contract.ts';
import type { Actor } from '../../identity/ports.ts';
import type { Scope } from '../../domain.ts';
import type { Requester } from '../../payments/ports.ts';
import { Code, Flag, Paging, SafeText, Timestamp } from './fields.ts';
import { actorOf } from './identity.ts';

export const Project = z
  .object({
    code: Code,
    name: z.string(),
    enabled: z.boolean(),
    remark: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Project' });

const settings = { name: SafeText(1, 128), remark: SafeText(0, 1000).nullable().optional() };

export const NewProject = z.object({ code: Code, ...settings }).meta({ id: 'NewProject' });

/** Fields that are absent from the request stay unchanged. */
export const ProjectChange = z.object(settings).partial().meta({ id: 'ProjectChange' });

export const ProjectsQuery = z.object({ ...Paging, enabled: Flag.optional() });

export const ByCode = z.object({ code: Code });

export const InProject = z.object({ project: Code.default('default') });

/** Converts a project from the database to the form in which the API returns it. */
export function presentProject(row: ProjectRow): z.input<typeof Project> {
  const { code, name, enabled, remark, createdAt, updatedAt } = row;
  return { code, name, enabled, remark, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** Returns the position of a row in a list that is ordered by `(createdAt, id)`. */
export function placeOf({ createdAt, id }: { createdAt: Date; id: string }): { createdAt: Date; id: string } {
  return { createdAt, id };
}

/** An empty query: the token determines an application's project. */
export const NoQuery = z.object({});

/** Returns what routes for administrators share: path prefix, roles, and the query parameter of the project. */
export function forAdministrators(prefix: string) {
  return {
    prefix,
    read: { admin: 'viewer', projectScope: 'query' },
    write: { admin: 'admin', projectScope: 'query' },
    query: InProject,
  } as const;
}

/**
 * Authorization for changes of a project's channel configuration, certificates and trusted keys. An administrator must
 * first confirm password and second factor. If the setting Debug is on, no confirmation is needed: live channels are
 * then not allowed, so no real money is at risk.
 */
export const CONFIRMED_WHERE_LIVE = { admin: 'admin', projectScope: 'query', confirmed: 'where-live' } as const;

/** Only an administrator with access to all projects may change administrators and their rights. */
export const CONFIRMED = { admin: 'admin', projectScope: 'service', confirmed: 'always' } as const;

/** Returns path prefix and scopes of routes for applications, which always act in their own project. */
export function forApplications(prefix: string, read: Scope, write: Scope = read) {
  return { prefix, read: { scope: read }, write: { scope: write }, query: NoQuery } as const;
}

interface Addressed<Named> {
  caller: Caller;
  query: { [parameter: string]: unknown; project?: Named };
}

/** The project of a request: an application's own, or the one in an administrator's query. */
export function projectOf<Named extends string | undefined>({ caller, query }: Addressed<Named>): string | Named {
  // If a route needs a project and the request names none, the query schema has already added the project `default`.
  return caller.kind === 'app' ? caller.project : (query.project as Named);
}

/** Returns who sent a request (for the audit log), and the project of the request. */
export function actingIn<Named extends string | undefined>(
  input: Addressed<Named> & { request: RequestFacts },
): { actor: Actor; project: string | Named } {
  return { actor: actorOf(input.caller, input.request), project: projectOf(input) };
}

/** Returns which orders a caller may act on: an application on its own orders, an administrator on any. */
export function requesterOf(caller: Caller, request: RequestFacts): Requester {
  return caller.kind === 'app'
    ? { owner: { clientId: caller.clientId }, actor: `app:${caller.clientId}` }
    : {
        owner: 'any',
        actor: `admin:${caller.username}`,
        person: actorOf(caller, request),
        confirmed: () => requireConfirmed(caller, 'where-live'),
      };
}
