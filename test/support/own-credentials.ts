import type { ExecutionContext } from 'ava';
import { uniqueCode } from './file-service.ts';
import { newMasterKey } from '../unit/credentials/stage.ts';
import { type Answer, type Service, startService } from '../unit/credentials/service.ts';

/** One audience of the credentials' twin routes: how it names the routes, and as whom it calls. */
interface Audience {
  configs: string;
  certs: string;
  token: string;
}

/** Administrators name the project, `default` when they do not. */
export const CONSOLE: Audience = { configs: '/api/v1/payment/config', certs: '/api/v1/certs', token: 'root' };

/** Applications have one: here `default`. */
export const MERCHANT: Audience = {
  configs: '/api/v2/payment/config',
  certs: '/api/v2/certs',
  token: 'app:default:config:read,config:write,cert:manage',
};

/** Sends as an audience. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** An application of a project of its own, as which a test sends. */
export async function ownProject(service: Service): Promise<{ project: string; send: Send }> {
  const project = uniqueCode('project');
  const at = new Date();
  const row = { code: project, name: project, enabled: true, remark: null, createdAt: at, updatedAt: at };
  await service.store.transaction((tx) => tx.projects.insertIfNew(row));
  return { project, send: sendAs(service, { ...MERCHANT, token: MERCHANT.token.replace('default', project) }) };
}

/** The service whose master key is gone: what was sealed before does not open. */
export async function withAnotherKey(t: ExecutionContext, { on }: Service): Promise<Service> {
  return startService(t, { on, masterKeys: [newMasterKey()] });
}

/** Sends to a service as an audience. */
export function sendAs({ call }: Pick<Service, 'call'>, { token }: Audience): Send {
  return (method, path, body) => call(method, path, { token, ...(body === undefined ? {} : { body }) });
}

/** An administrator trusts whatever waits for it in a project. */
export async function trustWaiting({ call }: Pick<Service, 'call'>, project = 'default'): Promise<void> {
  const { body } = await call('POST', `${CONSOLE.certs}/list?project=${project}`, { body: {} });
  for (const { id, trust } of body.data as { id: string; trust: string | null }[])
    if (trust === 'waiting') await call('POST', `${CONSOLE.certs}/${id}/trust`);
}
