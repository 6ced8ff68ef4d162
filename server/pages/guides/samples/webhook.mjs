import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

// [verify]
const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64');

/** Whether the service signed this body within the last five minutes. */
function isGenuine(headers, body) {
  const {
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': signatures = '',
  } = headers;
  if (!(Math.abs(Date.now() / 1000 - at) <= 300)) return false;
  const hmac = createHmac('sha256', key).update(`${id}.${at}.`).update(body);
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`);
  const given = signatures.split(' ').map((one) => Buffer.from(one));
  return given.some(
    (one) => one.length === expected.length && timingSafeEqual(one, expected),
  );
}
// [/verify]

const seen = new Set(); // in production: a table with a unique index on the event id

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()); // the bytes as received
  if (!isGenuine(request.headers, body)) return response.writeHead(401).end();
  const event = JSON.parse(body);
  if (!seen.has(event.id)) console.log('handle', event.type, event.data.object);
  seen.add(event.id);
  response.writeHead(204).end();
}).listen(process.env.PORT ?? 3000);
