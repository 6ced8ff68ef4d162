import { z } from 'zod';
import type { Projects } from '../catalog/projects.ts';
import type { Stats } from '../catalog/stats.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { MODES } from '../payments/channel.ts';
import { ByCode, NewProject, Project, ProjectChange, ProjectsQuery, presentProject } from './schemas/audience.ts';
import { CREATE_PROJECT_ERRORS, DELETE_PROJECT_ERRORS } from './schemas/errors.ts';
import { Code, TimeZone, Timestamp, page } from './schemas/fields.ts';
import { Toggle, actorOf } from './schemas/identity.ts';

const Moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], 'must be a date such as 2030-01-31 or an RFC 3339 time')
  .refine((text) => /^2\d{3}-/.test(text), 'must be in the years 2000 to 2999');

const period = {
  from: Moment.optional().describe('A day in `tz`, or a timestamp. By default 29 days before `to`.'),
  to: Moment.optional().describe('A day in `tz` (inclusive), or a timestamp (exclusive). By default today.'),
  tz: TimeZone,
  mode: z.enum(MODES).default('live').describe('Mode whose figures are returned.'),
};

const ProjectStatsQuery = z.object(period);

const StatsQuery = z.object({ ...period, project: Code.optional() });

const Sums = z.object({
  payWay: z.string(),
  currency: z.string(),
  paidOrders: z.int(),
  paidAmount: z.number().describe('Paid amount in major units.'),
  paidAmountMinor: z.int(),
  refunds: z.int(),
  refundedAmount: z.number().describe('Refunded amount in major units.'),
  refundedAmountMinor: z.int(),
});

const figures = {
  createdOrders: z.int(),
  states: z.record(z.string(), z.int()).describe('The orders created in the period, by their current state.'),
  paidOrders: z.int(),
  refunds: z.int(),
  amounts: z.array(Sums),
};

const Overview = z
  .object({
    mode: z.enum(MODES),
    tz: z.string(),
    project: z.string().nullable(),
    from: Timestamp,
    to: Timestamp,
    totals: z.object(figures),
    days: z.array(z.object({ date: z.string(), ...figures })),
  })
  .meta({ id: 'StatsOverview' });

/** Routes for administrators: manage the projects, which are the tenants of the service. */
export function projectRoutes({ projects, stats }: { projects: Projects; stats: Stats }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/projects:
   *   get:
   *     tags: [Projects]
   *     operationId: listProjects
   *     summary: List projects
   */
  router.get(
    '/api/v1/projects',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: ProjectsQuery, returns: Project, list: true },
      async ({ query }) =>
        page(
          await projects.list(query),
          query.limit,
          ({ createdAt, code }) => ({ createdAt, id: code }),
          presentProject,
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects:
   *   post:
   *     tags: [Projects]
   *     operationId: createProject
   *     summary: Create a project
   *     description: >-
   *       A project is a tenant with its own users, products, coins and channel configurations. Its application for console payments is
   *       created with it.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { code: tea-shop, name: Tea shop }
   */
  router.post(
    '/api/v1/projects',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'service' },
        body: NewProject,
        returns: Project,
        status: 201,
        errors: CREATE_PROJECT_ERRORS,
      },
      async ({ body, caller, request }) =>
        presentProject(await projects.create(actorOf(caller, request), { ...body, remark: body.remark ?? null })),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects/{code}:
   *   get:
   *     tags: [Projects]
   *     operationId: getProject
   *     summary: Get a project
   */
  router.get(
    '/api/v1/projects/:code',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'project' }, params: ByCode, returns: Project },
      async ({ params }) => presentProject(await projects.get(params.code)),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects/{code}:
   *   put:
   *     tags: [Projects]
   *     operationId: updateProject
   *     summary: Update a project
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { remark: null }
   */
  router.put(
    '/api/v1/projects/:code',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'project' }, params: ByCode, body: ProjectChange, returns: Project },
      async ({ params, body, caller, request }) =>
        presentProject(await projects.update(actorOf(caller, request), params.code, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects/{code}/toggle:
   *   put:
   *     tags: [Projects]
   *     operationId: toggleProject
   *     summary: Enable or disable a project
   *     description: >-
   *       Without a body, the current state is inverted. A disabled project refuses new payments and offers; existing orders are still
   *       processed.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/projects/:code/toggle',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'project' }, params: ByCode, body: Toggle, returns: Project },
      async ({ params, body, caller, request }) =>
        presentProject(await projects.toggle(actorOf(caller, request), params.code, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects/{code}:
   *   delete:
   *     tags: [Projects]
   *     operationId: deleteProject
   *     summary: Delete a project
   *     description: Only an empty project can be deleted. The project `default` cannot be deleted.
   */
  router.delete(
    '/api/v1/projects/:code',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'service' }, params: ByCode, status: 204, errors: DELETE_PROJECT_ERRORS },
      ({ params, caller, request }) => projects.remove(actorOf(caller, request), params.code),
    ),
  );

  /**
   * @openapi
   * /api/v1/projects/{code}/stats:
   *   get:
   *     tags: [Projects]
   *     operationId: getProjectStats
   *     summary: Get the statistics of a project
   *     description: Counts and totals of the period and of each day in the time zone `tz`.
   */
  router.get(
    '/api/v1/projects/:code/stats',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'project' },
        params: ByCode,
        query: ProjectStatsQuery,
        returns: Overview,
      },
      ({ params, query }) => stats.ofProject(params.code, query),
    ),
  );
  return router;
}

/** Route for administrators: payment statistics of all projects or of one project. */
export function statsRoutes({ stats }: { stats: Stats }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/stats/overview:
   *   get:
   *     tags: [Statistics]
   *     operationId: getStats
   *     summary: Get the statistics of a period
   *     description: >-
   *       Figures of one mode, for all projects or one project, by day in the time zone `tz`. A payment counts on the day on which it
   *       was paid, a refund on the day on which it succeeded.
   */
  router.get(
    '/api/v1/stats/overview',
    endpoint({ auth: { admin: 'viewer', projectScope: 'filter' }, query: StatsQuery, returns: Overview }, ({ query }) =>
      stats.overview(query),
    ),
  );
  return router;
}
