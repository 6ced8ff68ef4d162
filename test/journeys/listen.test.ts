import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { runPayctl } from '../cli/payctl.ts';
import { inParallel } from '../support/counts.ts';
import { temporaryFolder } from '../support/folder.ts';
import { payOrder } from '../support/orders.ts';
import { freePort } from '../support/free-port.ts';
import { startService, until } from '../support/service.ts';

test('payctl event listen survives a restart of the server without losing or repeating an event', async (t) => {
  const port = await freePort();
  const service = await startService(t, { port });
  const { token } = await firstAdmin(service);
  const shop = await service.merchant();
  const cancel = new AbortController();
  const listening = runPayctl(
    ['event', 'listen', '--types', 'order.paid', '--count', '12', '--since', '2020-01-01', '-o', 'jsonl'],
    {
      cwd: temporaryFolder(t),
      env: { PAYCTL_CONFIG_DIR: temporaryFolder(t), PAYCTL_SERVER: service.url, PAYCTL_TOKEN: token },
      signal: cancel.signal,
    },
  );
  t.teardown(() => cancel.abort());
  const first = await inParallel(6, 3, () => payOrder(service, shop, { amount: 10 }));
  await service.stop();
  const again = await startService(t, {
    port,
    url: service.databaseUrl,
    simulator: service.simulator,
    now: service.clock.now,
  });
  const second = await inParallel(6, 3, () => payOrder(again, shop, { amount: 10 }));
  const { code, stdout } = await listening;
  t.is(code, 0);
  const seen = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data.object.orderNo as string);
  t.deepEqual(seen.toSorted(), [...first, ...second].toSorted());
  await until(
    'the log',
    async () => (await again.app.store.read((tx) => tx.events.count({ type: 'order.paid' }))) === 12,
  );
});
