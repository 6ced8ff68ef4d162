import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Store } from '../../server/db/store.ts';

/** Writes `n` events of an application, each with a delivery that is due, oldest first. */
export async function backlogOf(
  store: Store,
  { clientId, url, n }: { clientId: string; url: string; n: number },
): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
       select 'evt_heap_' || n, 'order.paid', ${clientId}, 'default', 'H' || n, 'once', '{}', now() - interval '1 hour'
         from generate_series(1, ${n}) n`;
    await tx.sql`insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
       select gen_random_uuid(), 'evt_heap_' || n, ${clientId}, 'webhook', ${url}, 'pending', 0, now() - interval '1 hour', now()
         from generate_series(1, ${n}) n`;
    await tx.sql`analyze deliveries`;
  });
}

/** A receiver that takes every connection and never says a word. */
export async function deadReceiver(t: Pick<ExecutionContext, 'teardown'>): Promise<{ url: string; taken(): number }> {
  const sockets = new Set<{ destroy(): void }>();
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, taken: () => taken };
}
