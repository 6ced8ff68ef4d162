import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes } from '../../support/route-file.ts';
import { request, startService } from '../../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

test.serial('an application reads its name, project and scopes, and the mode of Debug', async (t) => {
  const project = await file.project();
  const shop = await file.shop({ name: 'store', scopes: ['payment:write', 'payment:read'], project });
  const { status, body } = await shop.call('GET', '/api/v2/me');
  t.is(status, 200);
  t.deepEqual(body.data, {
    client_id: shop.clientId,
    name: 'store',
    project,
    scopes: ['payment:write', 'payment:read'],
    mode: 'test',
  });
});

test.serial('without Debug the mode of an application is live', async (t) => {
  const service = await startService(t, { env: { PAY_DEBUG: 'false' } });
  const shop = await service.merchant();
  t.is((await shop.call('GET', '/api/v2/me')).body.data.mode, 'live');
});

test.serial('a token with few scopes shows only those scopes', async (t) => {
  const { clientId, secret } = await file.shop();
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, scope: 'payment:read' };
  const { access_token: token } = (await request(file.service.url, 'POST', '/oauth/token', body)).body;
  const headers = { authorization: `Bearer ${token}` };
  const answer = await request(file.service.url, 'GET', '/api/v2/me', undefined, headers);
  t.deepEqual(answer.body.data.scopes, ['payment:read']);
});
