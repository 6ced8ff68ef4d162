import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { Route } from '../../server/http/router.ts';
import { as, type Call, firstAdmin } from './admin.ts';
import { routesByTest } from './routes.ts';
import { type Merchant, request, type Service, type ServiceOptions, startService } from './service.ts';

/** One running service for all tests of a file; data that other tests must not see belongs to a test's own project or application. */
export interface FileService {
  /** Ends a shared resource with the file; `file` is accepted in place of a test. */
  teardown(end: () => void): void;
  /** The path of the test file, and the routes of its builder. */
  file: string;
  routes: readonly Route[];
  service: Service;
  /** The first administrator. */
  admin: Call;
  viewer: Call;
  /** Without a credential. */
  nobody: Call;
  /** A new application in the project `default`, whose channels use the simulator. */
  shop(settings?: Parameters<Service['merchant']>[0]): Promise<Merchant>;
  /** A new project, whose channels use the simulator. */
  project(): Promise<string>;
  end(): Promise<void>;
}

/** Starts the service for a test file, before its tests are declared; `coverRoutes` stops it after the last test. */
export async function serviceOfFile(file: string, options: ServiceOptions = {}): Promise<FileService> {
  const ends: (() => unknown)[] = [];
  const routes = await routesOf(file);
  const service = await startService({ teardown: (end) => void ends.push(end) }, options);
  const { call: admin } = await firstAdmin(service);
  const account = { username: 'looker', password: 'nine-slow-herons-wade' };
  await admin('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  const { token } = (await request(service.url, 'POST', '/api/v1/login', account)).body.data;
  return {
    teardown: (end) => void ends.push(end),
    file,
    routes,
    service,
    admin,
    viewer: as(service, token),
    nobody: (method, path, body, headers) => request(service.url, method, path, body, headers),
    shop: (settings = {}) => service.merchant({ trusted: true, ...settings }),
    project: async () => {
      const code = uniqueCode('project');
      await admin('POST', '/api/v1/projects', { code, name: code });
      return code;
    },
    end: async () => {
      for (const end of ends.toReversed()) await end();
    },
  };
}

/** Returns the routes of the builder that a test file is named after. */
async function routesOf(file: string): Promise<readonly Route[]> {
  const [, name = ''] = /\/test\/http\/(.*)\.test\.ts$/.exec(file.split('\\').join('/')) ?? [];
  const routes = (await routesByTest([name])).get(name);
  if (!routes) throw new Error(`no builder of routes is named like ${name}`);
  return routes;
}

/** Returns a name that no other test uses. */
export function uniqueCode(of: string): string {
  return `${of}-${randomBytes(4).toString('hex')}`;
}

/** The token of a viewer of a file's service, for answers that are compared as bytes. */
export async function viewerToken({ admin, nobody }: Pick<FileService, 'admin' | 'nobody'>): Promise<string> {
  const account = { username: 'marked', password: 'nine-tidy-green-anchors' };
  await admin('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  return (await nobody('POST', '/api/v1/login', account)).body.data.token;
}

/** Asserts that an export starts with the UTF-8 mark only when it is CSV and the mark was requested, and is otherwise the same. */
export async function assertMarked(t: ExecutionContext, url: string, token: string): Promise<void> {
  const bytes = async (more: string) => {
    const answer = await fetch(url + more, { headers: { authorization: `Bearer ${token}` } });
    t.is(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  };
  const plain = await bytes('');
  t.true(plain.length > 100);
  t.deepEqual(await bytes('&bom=true'), Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain]));
  t.deepEqual(await bytes('&bom=false'), plain);
  t.is((await bytes('&bom=true&format=ndjson'))[0], '{'.charCodeAt(0));
}
