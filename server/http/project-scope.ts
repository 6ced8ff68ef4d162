import { Forbidden, NotFound } from '../errors.ts';
import { type AdminCaller, NAMED_BY, type ProjectScope, type Thing } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import type { ReadInput } from './input.ts';

const USUAL = 'default';

/** Throws 403 if the request concerns the whole service and the caller is limited to some projects. */
export function requireAllProjects({ projects }: AdminCaller, projectScope: ProjectScope): void {
  if (projects && projectScope === 'service') throw beyond();
}

/**
 * Applies the caller's project limits to a request; no other code checks them. An object of another project gets the
 * same 404 as a missing one. A list is limited to the caller's projects. If the request names no project, the caller's
 * only project is used.
 */
export async function checkProjectScope(
  ctx: EdgeContext,
  projectScope: ProjectScope,
  projects: readonly string[],
  input: ReadInput,
): Promise<ReadInput> {
  const { belongings } = ctx.edge;
  const query = input.query as Members;
  const body = (input.body ?? {}) as Members;
  switch (projectScope) {
    case 'own':
    case 'service':
      return input;
    case 'filter':
      if (query.project !== undefined) requireMine(projects, query.project);
      return { ...input, query: { ...query, project: query.project === undefined ? projects : [query.project] } };
    case 'query': {
      const project = isSent(ctx, 'project') ? query.project : usual(projects);
      requireMine(projects, project);
      return { ...input, query: { ...query, project } };
    }
    case 'body': {
      const project = body.project ?? usual(projects);
      requireMine(projects, project);
      return { ...input, body: { ...body, project } };
    }
    case 'account': {
      const [place, of] = 'payWay' in query ? (['query', query] as const) : (['body', body] as const);
      const project = of.project ?? usual(projects);
      requireMine(projects, project);
      const { payWay = '', account } = of;
      const sharers = await belongings.sharersOf({ project, payWay, account });
      if (!sharers.every((one) => projects.includes(one))) throw beyond();
      return { ...input, [place]: { ...of, project } };
    }
    default: {
      const params = input.params as Members;
      const owners = await belongings.projectsOf(
        projectScope,
        params[NAMED_BY[projectScope]] ?? body[NAMED_BY[projectScope]] ?? '',
      );
      if (owners.length === 0 || !owners.every((one) => projects.includes(one)))
        throw new NotFound(WORDS[projectScope]);
      return input;
    }
  }
}

type Members = Readonly<Record<string, string>>;

const WORDS: Readonly<Record<Thing, string>> = {
  project: 'project',
  app: 'application',
  order: 'order',
  refund: 'refund',
  approval: 'approval',
  dispute: 'dispute',
  exception: 'exception',
  event: 'event',
  bill: 'bill',
  cert: 'certificate',
};

/** The project of a request that names none: the caller's only project, otherwise the default project. */
function usual(projects: readonly string[]): string {
  const [only = USUAL, ...more] = projects;
  return more.length === 0 ? only : USUAL;
}

/** The query string is read, because the parsed query already contains defaults. */
function isSent({ querystring }: EdgeContext, name: string): boolean {
  return new URLSearchParams(querystring).has(name);
}

function requireMine(projects: readonly string[], project: string | undefined): void {
  if (project === undefined || !projects.includes(project)) throw new NotFound('project');
}

function beyond(): Forbidden {
  return new Forbidden(
    'beyond_projects',
    'Your account is limited to some projects, and this request concerns other projects, too.',
  );
}
