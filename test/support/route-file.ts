import type { ExecutionContext, TestFn } from 'ava';
import { readFileSync } from 'node:fs';
import { scopes } from '../../server/domain.ts';
import type { Route } from '../../server/http/router.ts';
import { lookBeforeDrop } from './database.ts';
import type { FileService } from './file-service.ts';
import { fitsPattern } from './routes.ts';
import { currentFile } from '../runner/together.ts';

/** One answered request of this process; `code` is that of a refusal. */
interface OrderReport {
  method: string;
  path: string;
  status: number;
  code?: string;
  requestId?: string;
  /** The test file, if several share the process. */
  file?: string;
}

const answered: OrderReport[] = [];

/** Every answer to `fetch` in a test file's process since this file was loaded, from any client. */
function heard(): readonly OrderReport[] {
  return answered.filter(({ file }) => file === currentFile());
}

const send = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const answer = await send(input, init);
  const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) };
  const code = await codeOf(answer);
  const { pathname: path } = new URL(url);
  const requestId = answer.headers.get('x-request-id') ?? undefined;
  answered.push({ method: init?.method ?? method, path, status: answer.status, code, requestId, file: currentFile() });
  return answer;
};

async function codeOf(answer: Response): Promise<string | undefined> {
  if (answer.status < 400 || !answer.headers.get('content-type')?.includes('json')) return undefined;
  const body = (await answer.clone().json()) as { code?: string; error?: string };
  return body.code ?? body.error;
}

/** Codes of a contract that no test can provoke, each with the reason. */
type Unprovoked = Readonly<Record<string, string>>;

/**
 * Ties a test file to the builder of routes that it is named after. Declares a test of all callers without permission, and
 * checks at the end that each operation was answered with success and with every general refusal. The codes in `errors` belong to the
 * operation wherever it is served, and each file tests the ones that it can provoke.
 */
export function coverRoutes(test: TestFn, of: FileService, unprovoked: Unprovoked = {}): void {
  const { file, routes, end } = of;
  let declared = readFileSync(file, 'utf8').match(/^\s*test(\.serial)?\(/gm)?.length ?? 0;
  for (const route of routes) declared += refuseStrangers(test, route, of);
  let ran = 0;
  test.beforeEach(() => void ran++);
  test.after('every operation of the builder succeeded and gave every general refusal', (t) => {
    // Skipped when only a part of the tests runs.
    if (ran >= declared) t.deepEqual(findMissing(routes, unprovoked), []);
  });
  const audited = new Set<string>();
  lookBeforeDrop(async (run) => {
    for (const { id } of await run<{ id: string }>('select request_id as id from audit_log')) audited.add(id);
  });
  test.after.always('the service is stopped, and what administrators changed is in the audit log', async (t) => {
    await end();
    if (ran >= declared) t.deepEqual(findUnaudited(routes, audited), []);
  });
}

/** Log lines have their request's id: an operation is audited when a successful call of it is in a log of the file's services. */
function findUnaudited(routes: readonly Route[], audited: ReadonlySet<string>): string[] {
  const given = Map.groupBy(heard(), (answer) => (answer.status < 400 ? routeOf(routes, answer) : undefined));
  return routes
    .filter((route) => isWrite(route) && !(nameOf(route) in UNAUDITED))
    .filter((route) => !given.get(route)?.some(({ requestId }) => requestId !== undefined && audited.has(requestId)))
    .map(nameOf);
}

/** Requests of administrators without an audit entry, each with the reason. */
const UNAUDITED: Readonly<Record<string, string>> = {
  'POST /api/v1/certs/list': 'only reads; it is no GET because the specification says so',
  'POST /api/v1/certs/{id}/download': 'only reads, and hands out nothing that is secret',
  'POST /api/v1/payment/config/{payWay}/test': 'only asks the channel; nothing changes, here or there',
  'POST /api/v1/skillpay/agent-pay/test': 'only asks for a code that is refused; nothing changes',
};

/** Exports with the data of all payers. */
const EXPORTS: ReadonlySet<string> = new Set([
  'GET /api/v1/orders/export',
  'GET /api/v1/bills/{billNo}/lines',
  'GET /api/v1/audit-log/export',
]);

/** Whether a request must be audited: a write or an export. */
function isWrite(route: Route): boolean {
  if (EXPORTS.has(nameOf(route))) return true;
  return route.method !== 'GET' && route.path.startsWith('/api/v1/');
}

function findMissing(routes: readonly Route[], unprovoked: Unprovoked): string[] {
  const given = Map.groupBy(heard(), (answer) => routeOf(routes, answer));
  return routes.flatMap((route) => {
    const answers = given.get(route) ?? [];
    const found = new Set(answers.map(({ status, code }) => (status < 400 ? 'success' : code)));
    return neededOf(route, unprovoked)
      .filter((needed) => !found.has(needed))
      .map((needed) => `${nameOf(route)}: ${needed}`);
  });
}

/** Returns how many tests it declared. */
function refuseStrangers(test: TestFn, route: Route, { nobody, viewer, service }: FileService): number {
  const { method, contract } = route;
  const { auth } = contract;
  if (auth === 'none') return 0;
  const body = method === 'GET' ? undefined : {};
  const path = route.path.replace('{payWay}', 'alipay').replaceAll(/\{\w+\}/g, 'nothing');
  test.serial(`${nameOf(route)} needs a credential`, async (t) => {
    refused(t, await nobody(method, path, body), 401, 'unauthenticated');
  });
  if (auth === 'any-token' || ('admin' in auth && auth.admin === 'viewer')) return 1;
  if ('scope' in auth)
    test.serial(`${nameOf(route)} needs the scope ${auth.scope}`, async (t) => {
      const others = scopes.filter((scope) => scope !== auth.scope && scope !== 'admin');
      const app = await service.merchant({ scopes: others, trusted: true });
      const answer = await app.call(method, path, body);
      refused(t, answer, 403, 'insufficient_scope');
      t.true(answer.headers.get('www-authenticate')?.endsWith(`scope="${auth.scope}"`));
    });
  else
    test.serial(`${nameOf(route)} is not for viewers`, async (t) => {
      refused(t, await viewer(method, path, body), 403, 'role_insufficient');
    });
  return 2;
}

/** Asserts the status and the code of a refusal. */
export function refused(
  t: ExecutionContext,
  { status, body }: { status: number; body: { code?: string } },
  expected: number,
  code: string,
): void {
  t.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** The answers that must occur: the general refusals follow from the inputs in the contract. */
function neededOf({ contract }: Route, unprovoked: Unprovoked): string[] {
  const { auth, params, query, body, raw, idempotent } = contract;
  const needed = new Set<string>(['success']);
  if (auth !== 'none') needed.add('unauthenticated');
  if (typeof auth === 'object' && 'scope' in auth) needed.add('insufficient_scope');
  if (typeof auth === 'object' && 'admin' in auth && auth.admin !== 'viewer') needed.add('role_insufficient');
  if (Object.keys(params?.shape ?? {}).length > 0 && raw !== 'html') needed.add('not_found');
  if (auth !== 'none' && (query ?? body)) needed.add('invalid_request');
  if (idempotent) needed.add('idempotency_conflict');
  return [...needed].filter((code) => !(code in unprovoked));
}

/** The route of an answer: a fixed path precedes one with parameters. */
function routeOf(routes: readonly Route[], { method, path }: OrderReport): Route | undefined {
  const asked = routes.filter((route) => route.method === (method === 'HEAD' ? 'GET' : method));
  return asked.find((route) => route.path === path) ?? asked.find((route) => fitsPattern(route.path, path));
}
