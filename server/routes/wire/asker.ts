import type { Caller } from '../../http/callers.ts';
import type { RequestFacts } from '../../http/contract.ts';
import type { Asker } from '../../payments/ports.ts';
import { actorOf } from './identity.ts';

/** Whose orders a caller acts on: an application's are its own, an administrator's are any; each under the own name. */
export function askerOf(caller: Caller, request: RequestFacts): Asker {
  return caller.kind === 'app'
    ? { owner: { clientId: caller.clientId }, actor: `app:${caller.clientId}` }
    : { owner: 'any', actor: `admin:${caller.username}`, person: actorOf(caller, request) };
}
