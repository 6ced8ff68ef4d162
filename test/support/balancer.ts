import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Spreads requests over replicas; one that is taken out gets no new ones, and finishes those that it has. */
export interface Balancer {
  url: string;
  add(replica: string): void;
  takeOut(replica: string): void;
}

/** A load balancer as small as can be: round robin, no retries, so every request that a replica drops is seen. */
export async function startBalancer(t: ExecutionContext): Promise<Balancer> {
  const replicas: string[] = [];
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const server = createServer((incoming, response) => {
    const target = replicas[turn++ % replicas.length];
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (replica) => void replicas.push(replica),
    takeOut: (replica) => void replicas.splice(replicas.indexOf(replica), 1),
  };
}
