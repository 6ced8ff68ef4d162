import test from 'ava';
import { PAY_WAYS } from '../../server/payments/channel.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';
import { startEdge } from '../support/edge.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

test.serial('the discovery document lists the paid resources', async (t) => {
  const { status, body, headers } = await file.nobody('GET', '/openapi.json');
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'max-age=300');
  const operation = body.paths['/api/v2/skillpay/resource'].post;
  const { offers } = operation['x-payment-info'];
  t.deepEqual(offers.map(({ method }: { method: string }) => method).toSorted(), [...PAY_WAYS].toSorted());
  for (const offer of offers) t.like(offer, { intent: 'charge', amount: null });
  t.truthy(operation.responses['402']);
  t.truthy(operation.requestBody);
  t.is(body['x-service-info'].docs.apiReference, '/swagger/index.html');
});

test.serial('without the explorer the document is not served', async (t) => {
  const { url } = await startEdge(t, { groups: [], explorer: false });
  t.is((await fetch(`${url}/openapi.json`)).status, 404);
});
