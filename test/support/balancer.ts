import type { ExecutionContext } from 'ava';
import { Agent, createServer, request } from 'node:http';
import { listenOnFreePort } from './free-port.ts';

/** Spreads requests over replicas; one that is taken out gets no new ones, and finishes those that it has. */
export interface Balancer {
  url: string;
  add(replica: string): void;
  takeOut(replica: string): void;
}

/** How a balancer learns of replicas that stop. */
export interface BalancerOptions {
  /** It asks each one for its health and sends nothing to one that is not well; otherwise it is told. */
  checksEveryMs?: number;
}

/** A load balancer as small as can be: round robin, no retries, so every request that a replica drops is seen. */
export async function startBalancer(t: ExecutionContext, { checksEveryMs }: BalancerOptions = {}): Promise<Balancer> {
  const replicas: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const sick = new Set<string>();
  const server = createServer((incoming, response) => {
    const well = replicas.filter((replica) => !sick.has(replica));
    const target = well[turn++ % well.length];
    const { method, headers, url } = incoming;
    const onward = request(`${target}${url}`, { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', (error) => {
      response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ dropped: String(error) }));
    });
    incoming.pipe(onward);
  });
  const port = await listenOnFreePort(server);
  const check = async (replica: string): Promise<void> => {
    const answer = await fetch(`${replica}/health/db`).catch(() => undefined);
    if (answer?.ok) sick.delete(replica);
    else sick.add(replica);
  };
  const checks = checksEveryMs && setInterval(() => replicas.forEach((one) => void check(one)), checksEveryMs);
  t.teardown(() => {
    if (checks) clearInterval(checks);
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    add: (replica) => void replicas.push(replica),
    takeOut: (replica) => void replicas.splice(replicas.indexOf(replica), 1),
  };
}
