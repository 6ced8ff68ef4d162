import test from 'ava';
import { bootstrapAdmin, request, startService } from '../../support/service.ts';
import { addSkill, callSkill, offerSkill, paidSkill } from '../../support/skillpay.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

test.serial('the console shows pay-per-call by application and resource, within a period', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const other = await service.merchant();
  await addSkill(service);
  await offerSkill(shop);
  await offerSkill(other, {});
  await callSkill(shop, undefined, await paidSkill(service, shop));
  const account = { username: 'root', password: 'a long enough password' };
  await bootstrapAdmin(service.app, account);
  const { token } = (await request(service.url, 'POST', '/api/v1/login', account)).body.data;
  const stats = async (query = '', headers: Record<string, string> = { authorization: `Bearer ${token}` }) =>
    request(service.url, 'GET', `/api/v1/stats/skillpay${query}`, undefined, headers);
  const { body } = await stats();
  t.is(body.data.length, 2);
  const mine = body.data.find(({ clientId }: { clientId: string }) => clientId === shop.clientId);
  t.like(mine, {
    resource: 'weather',
    mode: 'simulator',
    currency: 'CNY',
    offered: 2,
    paid: 1,
    fulfilled: 1,
    revenue: 0.5,
  });
  t.deepEqual((await stats(`?clientId=${shop.clientId}`)).body.data, [mine]);
  t.deepEqual((await stats('?from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z')).body.data, []);
  t.deepEqual((await stats('?project=elsewhere')).body.data, []);
  t.is((await stats('?form=2000-01-01T00:00:00Z')).status, 400);
  t.is((await stats('', {})).status, 401);
  t.is((await stats('', { authorization: `Bearer ${shop.token}` })).status, 401);
});
