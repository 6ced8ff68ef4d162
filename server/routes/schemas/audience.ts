import { z } from 'zod';
import type { ProjectRow } from '../../catalog/ports.ts';
import { requireConfirmed } from '../../http/authenticate.ts';
import type { Caller, RequestFacts } from '../../http/contract.ts';
import type { Actor } from '../../identity/ports.ts';
import type { Scope } from '../../domain.ts';
import type { Requester } from '../../payments/ports.ts';
import { Code, Flag, Paging, SafeText, Timestamp } from './fields.ts';
import { actorOf } from './identity.ts';

/** A project in an answer. */
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

/** A new project. */
export const NewProject = z.object({ code: Code, ...settings }).meta({ id: 'NewProject' });

/** A change of a project; what is left out stays. */
export const ProjectChange = z.object(settings).partial().meta({ id: 'ProjectChange' });

/** Filters of the project list. */
export const ProjectsQuery = z.object({ ...Paging, enabled: Flag.optional() });

/** The path parameter of one thing by its code. */
export const ByCode = z.object({ code: Code });

/** The project that a console request is about. */
export const InProject = z.object({ project: Code.default('default') });

/** How a project is shown. */
export function presentProject(row: ProjectRow): z.input<typeof Project> {
  const { code, name, enabled, remark, createdAt, updatedAt } = row;
  return { code, name, enabled, remark, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** The place of a row that is listed by `(createdAt, id)`. */
export function placeOf({ createdAt, id }: { createdAt: Date; id: string }): { createdAt: Date; id: string } {
  return { createdAt, id };
}

/** Nothing in the query: an application's project is that of its token. */
export const NoQuery = z.object({});

/** A resource for administrators: its prefix, who may read and write it, and the query that names the project. */
export function forAdministrators(prefix: string) {
  return {
    prefix,
    read: { admin: 'viewer', projectScope: 'query' },
    write: { admin: 'admin', projectScope: 'query' },
    query: InProject,
  } as const;
}

/** An administrator who changes where the money of a project goes, or whom the service believes; under Debug it is nobody's money. */
export const CONFIRMED_WHERE_LIVE = { admin: 'admin', projectScope: 'query', confirmed: 'where-live' } as const;

/** An administrator of all projects who changes what administrators there are, or what they may do. */
export const CONFIRMED = { admin: 'admin', projectScope: 'service', confirmed: 'always' } as const;

/** The same for applications with these scopes, always in their own project. */
export function forApplications(prefix: string, read: Scope, write: Scope = read) {
  return { prefix, read: { scope: read }, write: { scope: write }, query: NoQuery } as const;
}

/** What of a request says whose things it is about. */
interface Addressed<Named> {
  caller: Caller;
  query: { [parameter: string]: unknown; project?: Named };
}

/** The project of a request: an application's own, or the one that an administrator named. */
export function projectOf<Named extends string | undefined>({ caller, query }: Addressed<Named>): string | Named {
  // An administrator's query has passed the schema, which fills the project in where it must be named.
  return caller.kind === 'app' ? caller.project : (query.project as Named);
}

/** Who acts in which project. */
export function actingIn<Named extends string | undefined>(
  input: Addressed<Named> & { request: RequestFacts },
): { actor: Actor; project: string | Named } {
  return { actor: actorOf(input.caller, input.request), project: projectOf(input) };
}

/** Whose orders a caller acts on: an application's are its own, an administrator's are any; each under the own name. */
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
