// A proxy between a program and its database at BENCH_DATABASE_URL that delays each response by BENCH_DISTANCE_MS milliseconds, like
// a network to another machine. It prints the address of the database behind it as its only line.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

const address = new URL(process.env['BENCH_DATABASE_URL'] ?? '');
const database = { host: address.hostname, port: Number(address.port), noDelay: true };
const ms = Number(process.env['BENCH_DISTANCE_MS']);

const server = createServer({ noDelay: true }, (client) => {
  const behind = connect(database);
  client.pipe(behind);
  behind.on('data', (answer) => setTimeout(() => client.write(answer), ms));
  behind.on('end', () => setTimeout(() => client.end(), ms));
  for (const [one, other] of [
    [client, behind],
    [behind, client],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => setTimeout(() => other.destroy(), ms));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
address.port = String((server.address() as AddressInfo).port);
console.log(address.href);
