import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { billedShop } from '../support/billed-shop.ts';
import { temporaryFolder } from '../support/folder.ts';
import { operatorAt } from './operator.ts';
import { startService } from '../support/service.ts';

test('payctl bill fetches, lists, shows, exports, imports, compares again and settles a bill', async (t) => {
  const service = await startService(t);
  const shop = await billedShop(service, 'wechat');
  const right = await shop.paid();
  const missing = await shop.paid();
  await shop.plant('paid_missing_at_channel', missing);
  await shop.nextDay();
  const { day } = shop;
  const payctl = await operatorAt(t, service);
  service.app.startJobs();

  const bill = await payctl.json(`bill fetch --pay-way wechat --date ${day} --interval 1`);
  t.like(bill, { state: 'done', day, lines: 1 });
  t.deepEqual(
    (await payctl.json(`bill list --pay-way wechat --from ${day} --to ${day}`)).map(
      ({ billNo }: { billNo: string }) => billNo,
    ),
    [bill.billNo],
  );
  t.is((await payctl.json(`bill get ${bill.billNo}`)).sha256, bill.sha256);
  const differences = await payctl.json(`bill differences ${bill.billNo}`);
  t.like(differences, [{ kind: 'paid_missing_at_channel', orderNo: missing }]);
  t.like(await payctl.json(`bill lines ${bill.billNo}`), [{ line: 1, orderNo: right, amountMinor: 1000 }]);

  const folder = temporaryFolder(t);
  const csv = join(folder, 'lines.csv');
  await payctl.payctl(`bill export ${bill.billNo} --file ${csv}`);
  t.regex(await readFile(csv, 'utf8'), new RegExp(`^line,kind,.*\r\n1,payment,SUCCESS,${right},`));

  const [account] = await service.app.ports.channels.forNotifications('default', 'wechat');
  const answer = await account!.channel.bills!.fetch(day);
  if (answer.kind !== 'bill') throw new Error(answer.kind);
  const parts: Uint8Array[] = [];
  for await (const part of answer.bytes) parts.push(part);
  const file = join(folder, 'bill.gz');
  await writeFile(file, Buffer.concat(parts));
  const imported = await payctl.json(`bill import ${file} --pay-way wechat --date ${day} --interval 1`);
  t.like(imported, { billNo: bill.billNo, state: 'done', sha256: bill.sha256 });
  await writeFile(file, Buffer.concat(parts).subarray(0, -30));
  const refused = await payctl.payctl(`bill import ${file} --pay-way wechat --date ${day} -o json`);
  t.regex(refused.stderr, /"bill_malformed"/);

  t.is((await payctl.json(`bill rerun ${bill.billNo} --interval 1`)).state, 'done');
  const settled = await payctl.json(`bill settlement --from ${day} --to ${day} --pay-way wechat --mode simulator`);
  t.like(settled, { totals: [{ currency: 'CNY', grossMinor: 1000, feesMinor: 6, netMinor: 994 }], disagreements: [] });
  t.like(await payctl.json(`explain ${right}`), { bills: [{ billNo: bill.billNo, feeMinor: 6 }] });
});
