import { NotFound } from '../errors.ts';
import type { AppTerms } from './idempotency.ts';
import type { Payee } from './pay-request.ts';
import type { Asker, Ports } from './ports.ts';

/** An application that places an order; what was read of it with its token is not read again. */
export interface PayingApp extends Pick<Asker, 'person'> {
  clientId: string;
  /** Of what was read with its token. */
  project?: string;
  terms?: AppTerms | undefined;
}

/** Whose order it becomes, for which project and with which promises; throws NotFound for an application that is gone. */
export async function payeeOf(
  { store }: Pick<Ports, 'store'>,
  { clientId, person, project, terms }: PayingApp,
): Promise<Payee> {
  const by = { clientId, actor: `app:${clientId}`, ...(person && { person }) };
  if (project !== undefined && terms) return { ...by, project, ...terms };
  const app = await store.read((tx) => tx.apps.find({ clientId }));
  if (!app) throw new NotFound('application');
  return { ...by, project: app.project, latePayment: app.latePayment, limits: app.limits };
}
