import test, { type ExecutionContext } from 'ava';
import { type AdminAuth, NAMED_BY } from '../../../server/http/contract.ts';
import type { Route } from '../../../server/http/router.ts';
import { firstAdmin } from '../../support/admin.ts';
import { allRoutes } from '../../support/routes.ts';
import { request, startService, type Service } from '../../support/service.ts';
import { fingerprints } from '../../support/tables.ts';

/** The lowest role that may call each route of the console, and the route's project scope. A new route must be added here. */
const TABLE: Record<AdminAuth['admin'], Partial<Record<AdminAuth['projectScope'], readonly string[]>>> = {
  viewer: {
    own: [
      'DELETE /api/v1/me/sessions/{id}',
      'GET /api/v1/info',
      'GET /api/v1/me',
      'GET /api/v1/me/second-factor',
      'GET /api/v1/me/sessions',
      'POST /api/v1/logout',
      'POST /api/v1/me/confirm',
      'POST /api/v1/me/password',
      'POST /api/v1/me/second-factor/confirm',
      'POST /api/v1/me/second-factor/recovery-codes',
      'POST /api/v1/me/second-factor/remove',
      'POST /api/v1/me/second-factor/start',
    ],
    service: [
      'GET /api/v1/admins',
      'GET /api/v1/admins/{id}',
      'GET /api/v1/audit-log',
      'GET /api/v1/audit-log/export',
      'GET /api/v1/books',
      'GET /api/v1/diagnosis',
      'GET /api/v1/live',
    ],
    filter: [
      'GET /api/v1/api-apps',
      'GET /api/v1/approvals',
      'GET /api/v1/bills',
      'GET /api/v1/disputes',
      'GET /api/v1/events',
      'GET /api/v1/events/stream',
      'GET /api/v1/exceptions',
      'GET /api/v1/orders',
      'GET /api/v1/orders/export',
      'GET /api/v1/projects',
      'GET /api/v1/refunds',
      'GET /api/v1/stats/overview',
      'GET /api/v1/stats/settlement',
      'GET /api/v1/stats/skillpay',
    ],
    app: [
      'GET /api/v1/api-apps/{client_id}',
      'GET /api/v1/api-apps/{client_id}/limits',
      'GET /api/v1/api-apps/{client_id}/webhook',
      'GET /api/v1/api-apps/{client_id}/webhook/deliveries',
    ],
    refund: ['GET /api/v1/refunds/{refundNo}'],
    approval: ['GET /api/v1/approvals/{refundNo}'],
    bill: ['GET /api/v1/bills/{billNo}', 'GET /api/v1/bills/{billNo}/differences', 'GET /api/v1/bills/{billNo}/lines'],
    query: [
      'GET /api/v1/coins',
      'GET /api/v1/coins/{code}',
      'GET /api/v1/coins/{code}/accounts',
      'GET /api/v1/coins/{code}/accounts/{userId}',
      'GET /api/v1/coins/{code}/entries',
      'GET /api/v1/payment/config/list',
      'GET /api/v1/payment/config/{payWay}',
      'GET /api/v1/payment/config/{payWay}/schema',
      'GET /api/v1/products',
      'GET /api/v1/products/{code}',
      'GET /api/v1/skillpay/agent-pay',
      'GET /api/v1/users',
      'GET /api/v1/users/{userId}',
      'GET /api/v1/users/{userId}/coins',
      'GET /api/v1/users/{userId}/orders',
      'POST /api/v1/certs/list',
    ],
    order: [
      'GET /api/v1/console/payment/query/{orderNo}',
      'GET /api/v1/orders/{orderNo}',
      'GET /api/v1/orders/{orderNo}/explain',
      'GET /api/v1/orders/{orderNo}/timeline',
    ],
    dispute: ['GET /api/v1/disputes/{disputeNo}'],
    exception: ['GET /api/v1/exceptions/{id}'],
    project: ['GET /api/v1/projects/{code}', 'GET /api/v1/projects/{code}/stats'],
    cert: ['POST /api/v1/certs/{id}/download'],
  },
  operator: {
    app: ['POST /api/v1/api-apps/{client_id}/webhook/test'],
    approval: ['POST /api/v1/approvals/{refundNo}/approve', 'POST /api/v1/approvals/{refundNo}/reject'],
    refund: [
      'POST /api/v1/refunds/{refundNo}/resolve',
      'POST /api/v1/refunds/{refundNo}/retry',
      'POST /api/v1/refunds/{refundNo}/sync',
    ],
    account: ['POST /api/v1/bills', 'POST /api/v1/bills/import'],
    bill: ['POST /api/v1/bills/{billNo}/rerun'],
    order: [
      'POST /api/v1/console/payment/capture/{orderNo}',
      'POST /api/v1/console/payment/close/{orderNo}',
      'POST /api/v1/console/payment/refund',
      'POST /api/v1/orders/{orderNo}/close',
      'POST /api/v1/orders/{orderNo}/refunds',
      'POST /api/v1/orders/{orderNo}/sync',
    ],
    body: ['POST /api/v1/console/payment/pay'],
    dispute: [
      'POST /api/v1/disputes/{disputeNo}/accept',
      'POST /api/v1/disputes/{disputeNo}/answer',
      'POST /api/v1/disputes/{disputeNo}/finish',
    ],
    event: ['POST /api/v1/events/{id}/resend'],
    exception: ['POST /api/v1/exceptions/{id}/resolve'],
  },
  admin: {
    service: [
      'DELETE /api/v1/admins/{id}',
      'DELETE /api/v1/admins/{id}/sessions',
      'DELETE /api/v1/admins/{id}/sessions/{sessionId}',
      'DELETE /api/v1/projects/{code}',
      'GET /api/v1/admins/{id}/sessions',
      'POST /api/v1/admins',
      'POST /api/v1/admins/{id}/reset-second-factor',
      'POST /api/v1/projects',
      'PUT /api/v1/admins/{id}',
      'PUT /api/v1/admins/{id}/toggle',
    ],
    bill: ['DELETE /api/v1/bills/{billNo}/quiet', 'POST /api/v1/bills/{billNo}/quiet'],
    app: [
      'DELETE /api/v1/api-apps/{client_id}',
      'DELETE /api/v1/api-apps/{client_id}/webhook',
      'POST /api/v1/api-apps/{client_id}/revoke-tokens',
      'POST /api/v1/api-apps/{client_id}/rotate-secret',
      'POST /api/v1/api-apps/{client_id}/webhook/rotate-secret',
      'PUT /api/v1/api-apps/{client_id}',
      'PUT /api/v1/api-apps/{client_id}/toggle',
      'PUT /api/v1/api-apps/{client_id}/webhook',
    ],
    query: [
      'DELETE /api/v1/coins/{code}',
      'DELETE /api/v1/products/{code}',
      'DELETE /api/v1/skillpay/agent-pay',
      'DELETE /api/v1/users/{userId}',
      'POST /api/v1/certs/upload',
      'POST /api/v1/coins',
      'POST /api/v1/coins/{code}/adjustments',
      'POST /api/v1/payment/config/{payWay}',
      'POST /api/v1/payment/config/{payWay}/certificates',
      'POST /api/v1/payment/config/{payWay}/notices',
      'POST /api/v1/payment/config/{payWay}/test',
      'POST /api/v1/products',
      'POST /api/v1/skillpay/agent-pay/test',
      'POST /api/v1/users',
      'PUT /api/v1/coins/{code}',
      'PUT /api/v1/coins/{code}/toggle',
      'PUT /api/v1/payment/config/{payWay}/toggle',
      'PUT /api/v1/products/{code}',
      'PUT /api/v1/products/{code}/toggle',
      'PUT /api/v1/skillpay/agent-pay',
      'PUT /api/v1/users/{userId}',
      'PUT /api/v1/users/{userId}/toggle',
    ],
    body: ['POST /api/v1/api-apps'],
    cert: [
      'POST /api/v1/certs/{id}/default',
      'POST /api/v1/certs/{id}/delete',
      'POST /api/v1/certs/{id}/distrust',
      'POST /api/v1/certs/{id}/trust',
    ],
    project: ['PUT /api/v1/projects/{code}', 'PUT /api/v1/projects/{code}/toggle'],
  },
};

const ROLES = ['viewer', 'operator', 'admin'] as const;
const nameOf = ({ method, path }: Route) => `${method} ${path}`;

interface ConsoleRoute extends Route {
  readonly auth: AdminAuth;
}

async function consoleRoutes(): Promise<ConsoleRoute[]> {
  return (await allRoutes()).flatMap((route) => {
    const { auth } = route.contract;
    return typeof auth === 'object' && 'admin' in auth ? [{ ...route, auth }] : [];
  });
}

test('the required role and project scope of each route are exactly those listed', async (t) => {
  const found: Record<string, Record<string, string[]>> = {};
  for (const route of await consoleRoutes()) {
    const { admin, projectScope } = route.auth;
    ((found[admin] ??= {})[projectScope] ??= []).push(nameOf(route));
  }
  const sorted = (table: typeof TABLE) =>
    Object.fromEntries(
      Object.entries(table).map(([role, reaches]) => [
        role,
        Object.fromEntries(Object.entries(reaches).map(([projectScope, names]) => [projectScope, names.toSorted()])),
      ]),
    );
  t.deepEqual(sorted(found as typeof TABLE), sorted(TABLE));
});

test('the project scope of a route can be determined from its request', async (t) => {
  for (const { auth, contract, path, ...route } of await consoleRoutes()) {
    const { projectScope } = auth;
    const name = nameOf({ ...route, path, contract });
    const has = (schema: { shape?: object } | undefined, member: string) => Object.hasOwn(schema?.shape ?? {}, member);
    const body = contract.body as { shape?: object } | undefined;
    if (projectScope === 'query') t.true(has(contract.query, 'project'), name);
    else if (projectScope === 'body') t.true(has(body, 'project'), name);
    else if (projectScope === 'account')
      for (const member of ['project', 'payWay', 'account'])
        t.true(has(contract.query, member) || has(body, member), `${name}: ${member}`);
    else if (projectScope === 'filter') t.true(has(contract.query, 'project') || path === '/api/v1/projects', name);
    else if (projectScope !== 'own' && projectScope !== 'service') {
      const member = NAMED_BY[projectScope];
      t.true(path.includes(`{${member}}`) || has(body, member), `${name}: ${member}`);
    }
    if (contract.query && 'project' in contract.query.shape)
      t.true(['query', 'filter', 'account', 'cert'].includes(projectScope), `${name} names a project`);
  }
});

/** The route that ends the session of its caller. */
const LEAVES = 'POST /api/v1/logout';
const OWN = 'own-project';

/** An administrator of each role, of all projects and of one; each with a session. */
async function everybody(t: ExecutionContext, service: Service) {
  const admin = await firstAdmin(service);
  t.is((await admin.call('POST', '/api/v1/projects', { code: OWN, name: 'Own' })).status, 201);
  const found = [];
  for (const role of ROLES)
    for (const projects of [null, [OWN]]) {
      const account = { username: `${role}-${projects ? 'limited' : 'free'}`, password: 'nine-slow-herons-wade' };
      t.is((await admin.call('POST', '/api/v1/admins', { ...account, role, projects })).status, 201);
      const { token } = (await request(service.url, 'POST', '/api/v1/login', account)).body.data;
      found.push({ role, limited: projects !== null, headers: { authorization: `Bearer ${token}` } });
    }
  return found;
}

/** The path with a valid value for each parameter, in a project that does not exist. */
function pathOf({ path, contract, auth }: ConsoleRoute): string {
  const values: Record<string, string> = { payWay: 'alipay' };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'id' || name === 'sessionId' ? '00000000-0000-4000-8000-000000000000' : (values[name] ?? 'nothing'),
  );
  const names =
    auth.projectScope === 'query' || ('project' in (contract.query?.shape ?? {}) && auth.projectScope !== 'account');
  return names ? `${filled}?project=nothing` : filled;
}

test('every combination of route, role and project limit answers as the table states', async (t) => {
  const service = await startService(t);
  const people = await everybody(t, service);
  const before = await fingerprints(service);
  let asked = 0;
  for (const route of await consoleRoutes()) {
    if (nameOf(route) === LEAVES) continue;
    for (const { role, limited, headers } of people) {
      // A stream of events never ends by itself.
      if ('text/event-stream' in (route.contract.answers?.[200] ?? {}) && !limited) continue;
      // An invalid body, so that nothing is changed.
      const body = route.method === 'GET' || !route.contract.body ? undefined : [];
      const answer = await request(service.url, route.method, pathOf(route), body, headers);
      const which = `${nameOf(route)}, ${role}, ${limited ? 'limited' : 'free'}: ${answer.status} ${answer.body?.code}`;
      const needs = ROLES.indexOf(route.auth.admin);
      if (ROLES.indexOf(role) < needs) t.is(answer.body.code, 'role_insufficient', which);
      else if (limited && route.auth.projectScope === 'service') t.is(answer.body.code, 'beyond_projects', which);
      else {
        t.false(['role_insufficient', 'beyond_projects', 'unauthenticated'].includes(answer.body?.code), which);
        if (limited && !['own', 'service', 'body', 'account'].includes(route.auth.projectScope) && body === undefined)
          t.is(answer.status, route.path === '/api/v1/projects' ? 200 : 404, which);
      }
      asked += 1;
    }
  }
  const changed = await fingerprints(service);
  for (const table of ['orders', 'refunds', 'admins', 'api_apps', 'projects', 'channel_configs', 'products', 'coins'])
    t.deepEqual(changed[table], before[table], table);
  t.log(`${asked} requests of ${people.length} sessions`);
});
