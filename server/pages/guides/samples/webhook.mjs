import { createServer } from 'node:http';
import { verifyWebhook } from 'unified-payment-client';

const seen = new Set(); // in production: a table with a unique index on the event id

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()); // the bytes as received
  const secret = process.env.WEBHOOK_SECRET;
  const event = await verifyWebhook(secret, request.headers, body).catch((refused) => {
    console.error(refused.code, refused.message);
  });
  if (!event) return response.writeHead(401).end();
  if (!seen.has(event.id)) console.log('handle', event.type, event.data.object);
  seen.add(event.id);
  response.writeHead(204).end();
}).listen(process.env.PORT ?? 3000);
