import test, { type ExecutionContext } from 'ava';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { temporaryFolder } from '../support/folder.ts';
import { payOrder } from '../support/orders.ts';
import { startPostgres } from '../support/postgres.ts';
import { type Answer, startService, until } from '../support/service.ts';

const MEBIBYTE = 1 << 20;
const ROOM = '500m';

/** Mounts a separate disk; false if this machine does not allow it. */
function mountDisk(t: ExecutionContext, folder: string): boolean {
  mkdirSync(folder);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${ROOM},mode=1777`, 'tmpfs', folder]);
  if (status !== 0) return false;
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  return true;
}

/** Fills the remaining space. */
function fillUp(path: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(MEBIBYTE);
  for (let size = block.length; size >= 4096; size >>= 1) {
    try {
      for (;;) writeSync(file, block, 0, size);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  closeSync(file);
}

test('with a full PostgreSQL disk every answer is correct, nothing is lost, and free space alone restores service', async (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const disk = join(folder, 'disk');
  if (!mountDisk(t, disk)) {
    t.log('a disk cannot be mounted here: not tested');
    return t.pass();
  }
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  chmodSync(elsewhere, 0o777);
  const postgres = await startPostgres({ disk, environment: { PAY_TEST_WAL: join(elsewhere, 'wal') } });
  t.teardown(() => postgres.stop());
  process.env.PAY_TEST_POSTGRES = postgres.url;
  const service = await startService(t);
  const shop = await service.merchant();
  const seen: Record<string, number> = {};
  const made = { orders: [] as string[], refunds: [] as string[], perhaps: 0, perhapsRefunds: 0 };
  const note = (what: string, { status, body }: Answer): void => {
    const word = `${what} ${status}${body.code ? ` ${body.code}` : ''}`;
    seen[word] = (seen[word] ?? 0) + 1;
  };
  const paid = await inParallel(8, 4, () => payOrder(service, shop, { payWay: 'alipay', amount: 100 }));
  made.orders.push(...paid);
  let round = 0;
  /** Places and queries an order, and refunds a part of another one. */
  const once = async (): Promise<void> => {
    const index = round++;
    const payWay = index % 2 ? 'wechat' : 'alipay';
    const placed = await shop.call('POST', '/api/v2/payment/pay', { subject: 'x'.repeat(120), amount: 8, payWay });
    note('pay', placed);
    if (placed.status === 504) made.perhaps += 1;
    if (placed.status === 201) {
      const { orderNo } = placed.body.data;
      made.orders.push(orderNo);
      await service.sim('/sim/pay', { orderNo });
      note('query', await shop.call('GET', `/api/v2/payment/query/${orderNo}`));
    }
    const refund = { orderNo: paid[index % paid.length], refundAmount: 0.1, merchantRefundNo: `m-${index}` };
    const given = await shop.call('POST', '/api/v2/payment/refund', refund);
    note('refund', given);
    if (given.status === 504) made.perhapsRefunds += 1;
    if (given.status === 200) made.refunds.push(given.body.data.refundNo);
  };
  await inParallel(count(40, 10), 4, once);
  const ballast = join(disk, 'ballast');
  fillUp(ballast);
  const left = statfsSync(disk);
  // A full disk may still accept a row that fits into a page, so this repeats until some writes are refused.
  await until('writes are refused', async () => {
    await inParallel(20, 4, once);
    return Object.keys(seen).some((word) => word.includes('database_full'));
  });
  await inParallel(count(200, 20), 4, once);
  t.is((await shop.call('GET', '/health/db')).status, 200, 'reads still work');
  const full = { ...seen };
  rmSync(ballast);
  await until('a payment is taken again', async () => {
    const before = made.orders.length;
    await once();
    return made.orders.length > before;
  });
  await runUntilQuiet(service, 12 * 3600, 900);

  t.log(`${left.bavail * left.bsize} bytes were left; ${JSON.stringify(full)}`);
  const untrue = Object.keys(seen).filter(
    (word) =>
      !/ (200|201)$| (503 database_full|503 database_busy|503 database_unavailable|504 channel_outcome_unknown|409 refund_in_progress)$/.test(
        word,
      ),
  );
  t.deepEqual(untrue, []);
  const { store } = service.app;
  const orders = await store.read((tx) => tx.orders.list({}));
  const numbers = new Set(orders.map(({ orderNo }) => orderNo));
  t.deepEqual(
    made.orders.filter((orderNo) => !numbers.has(orderNo)),
    [],
    'every acknowledged order is stored',
  );
  t.true(orders.length <= made.orders.length + made.perhaps, 'a refused order is not stored');
  const refunds = await store.read((tx) => tx.refunds.list({}));
  const refundNos = new Set(refunds.map(({ refundNo }) => refundNo));
  t.deepEqual(
    made.refunds.filter((refundNo) => !refundNos.has(refundNo)),
    [],
  );
  t.true(refunds.length <= made.refunds.length + made.perhapsRefunds);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
  t.log(`${orders.length} orders, ${refunds.length} refunds: the ledger check passes`);
});
