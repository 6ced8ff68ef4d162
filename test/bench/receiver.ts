import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A shop's webhook on this machine. */
export interface Receiver {
  url: string;
  /** The number of reported payments. */
  told(): number;
  close(): void;
}

/** Opens a webhook that accepts everything and counts payments. */
export async function openReceiver(): Promise<Receiver> {
  let told = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.once('end', () => {
      if (text.includes('"order.paid"')) told += 1;
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, told: () => told, close };
}
