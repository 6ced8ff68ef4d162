import type { ExecutionContext } from 'ava';
import { uniqueCode } from './file-service.ts';
import { newMasterKey } from '../unit/credentials/stage.ts';
import { type Answer, type Service, startService } from '../unit/credentials/service.ts';

/** One audience of the credentials' twin routes: how it names the routes, and with which credential it calls. */
interface Audience {
  configs: string;
  certs: string;
  token: string;
}

/** Administrators name the project; by default `default`. */
export const CONSOLE: Audience = { configs: '/api/v1/payment/config', certs: '/api/v1/certs', token: 'root' };

/** Applications have exactly one project, here `default`. */
export const MERCHANT: Audience = {
  configs: '/api/v2/payment/config',
  certs: '/api/v2/certs',
  token: 'app:default:config:read,config:write,cert:manage',
};

/** Sends requests as an audience. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** An application with its own project, as which a test sends requests. */
export async function ownProject(service: Service): Promise<{ project: string; send: Send }> {
  const project = uniqueCode('project');
  const at = new Date();
  const row = { code: project, name: project, enabled: true, remark: null, createdAt: at, updatedAt: at };
  await service.store.transaction((tx) => tx.projects.insertIfNew(row));
  return { project, send: sendAs(service, { ...MERCHANT, token: MERCHANT.token.replace('default', project) }) };
}

/** A service without its former master key: existing encrypted values cannot be decrypted. */
export async function withAnotherKey(t: ExecutionContext, { on }: Service): Promise<Service> {
  return startService(t, { on, masterKeys: [newMasterKey()] });
}

/** Sends requests to a service as an audience. */
export function sendAs({ call }: Pick<Service, 'call'>, { token }: Audience): Send {
  return (method, path, body) => call(method, path, { token, ...(body === undefined ? {} : { body }) });
}

/** An administrator trusts every waiting key of a project. */
export async function trustWaiting({ call }: Pick<Service, 'call'>, project = 'default'): Promise<void> {
  const { body } = await call('POST', `${CONSOLE.certs}/list?project=${project}`, { body: {} });
  for (const { id, trust } of body.data as { id: string; trust: string | null }[])
    if (trust === 'waiting') await call('POST', `${CONSOLE.certs}/${id}/trust`);
}
