import type { Scenario } from './load.ts';
import { type Ask, query, token } from './scenarios.ts';
import type { Caller, Stage } from './stage.ts';

/** What a second worker brings where the database is not the limit; on two processors it shares them with everybody else. */
const AIM = 1.7;

/** Two workers beside one, each over a database of its own on the same server. */
export async function workerScenarios({ service, onCopy }: Stage): Promise<Scenario[]> {
  const two = await onCopy('two_workers', { PAY_SERVER_WORKERS: '2' });
  const scenario = (name: string, shot: (caller: Caller) => Ask): Scenario => ({
    name,
    of: 'one worker',
    aim: AIM,
    ours: { ...shot(two), pid: two.pid },
    baseline: { ...shot(service), pid: service.pid },
    putOff: async () => {},
  });
  return [
    scenario('token, two workers', token),
    scenario('query, two workers', (caller) => query(caller, caller.closedOrder)),
  ];
}
