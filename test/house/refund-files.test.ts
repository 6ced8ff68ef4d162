import test from 'ava';
import { type Profiler, Session } from 'node:inspector/promises';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

const SERVER = new URL('../../server/', import.meta.url).href;

/** Files with a named function that one refund runs; server/README.md says what they are. */
const MOST = 42;

/** Messages are written a moment later, beside whatever comes then; what counts the calls for the live feed only listens. */
const BESIDE = /^(db\/queries|compose)\/messages\.ts$|^live\/calls\.ts$/;

test('who follows a refund opens few files: what is always read together stands together', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });

  const session = new Session();
  session.connect();
  t.teardown(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const ran = async () => (await session.post('Profiler.takePreciseCoverage')).result.flatMap(namedOf);
  await service.app.messages.flush();
  let quiet = 0;
  await until('what follows the payment is done', async () => (quiet = (await ran()).length === 0 ? quiet + 1 : 0) > 9);

  const { status } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const files = (await ran()).toSorted();
  t.is(status, 200);
  t.true(
    files.some((file) => file.startsWith('payments/refund.ts ')),
    'nothing was counted',
  );
  t.true(files.length <= MOST, `${files.length} files:\n${files.join('\n')}`);
});

/** The file and its functions that ran, if any has a name: those that have none are steps of one that has. */
function namedOf({ url, functions }: Profiler.ScriptCoverage): string[] {
  const file = url.startsWith(SERVER) ? url.slice(SERVER.length) : 'simulator/';
  if (file.startsWith('simulator/') || BESIDE.test(file)) return [];
  const names = functions
    .flatMap(({ functionName, ranges }) => (ranges[0]?.count ? [functionName] : []))
    .filter(Boolean);
  return names.length > 0 ? [`${file} ${names.join(' ')}`] : [];
}
