// The built service, complete except for a port, with one bill to read and compare. Its orders come as JSON in BENCH_BILL. It prints
// the time taken and the peak memory. Plain JavaScript, so that type stripping is not measured.
import { readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';

const { root, day, file, payWay, account } = JSON.parse(process.env['BENCH_BILL'] ?? '{}');
const built = (path) => join(root, 'dist', path);

const { loadConfig } = await import(built('config/load.js'));
const { buildApp } = await import(built('server/app.js'));
const { newBill } = await import(built('server/payments/bills/payees.js'));
const { beginReading, storeBill } = await import(built('server/payments/bills/store.js'));
const { compareBill } = await import(built('server/payments/bills/work.js'));
const { reopened } = await import(built('server/compose/payments.js'));

const READERS = {
  async alipay() {
    const { readBill } = await import(built('server/channels/alipay/bill-file.js'));
    return (from) => readBill(from, day, account);
  },
  async wechat() {
    const { readTradeBill } = await import(built('server/channels/wechat/bill-file.js'));
    return (from) => readTradeBill(from, day, { mchid: account, subMchid: undefined });
  },
  async paypal() {
    const { readTransactions } = await import(built('server/channels/paypal/bill-file.js'));
    return (from) => readTransactions(from, day);
  },
};

const config = loadConfig({ env: process.env, cwd: process.cwd() });
const app = await buildApp(config);
const desk = { fetch: () => Promise.reject(new Error('nobody asks')), read: await READERS[payWay]() };
const identity = { channel: { bills: desk }, account, mode: 'live', payeeVersions: new Set([1]) };
const ports = {
  ...app.ports,
  channels: { ...app.ports.channels, forNotices: async () => [identity] },
  openPatient: () => reopened(app),
};
const bill = newBill({ payWay, account, mode: 'live', project: 'default', day }, null, ports.now());
const payee = { project: 'default', payWay, version: 1, mode: 'live', payee: account, provenAt: ports.now() };
await app.store.transaction(async (tx) => {
  await tx.payees.insert(payee);
  await tx.bills.insert(bill);
});
// As server/main.ts does after a start; afterwards the peak memory is that of the work.
const session = new Session();
session.connect();
await session.post('HeapProfiler.collectGarbage');
session.disconnect();
writeFileSync('/proc/self/clear_refs', '5');
const started = performance.now();
const of = await beginReading(ports, bill.billNo);
await storeBill(ports, of, { desk, spool: { file, bytes: 0n, sha256: '' }, source: 'channel' });
const read = performance.now();
await compareBill(ports, bill.billNo);
const compared = performance.now();
const { state, lines, notOurs } = await app.store.read((tx) => tx.bills.find({ billNo: bill.billNo }));
const differences = (await app.store.read((tx) => tx.billDifferences.list({ billNo: bill.billNo }))).length;
const status = readFileSync('/proc/self/status', 'utf8');
const megabytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
const figures = {
  readMs: read - started,
  compareMs: compared - read,
  megabytes,
  state,
  lines,
  notOurs,
  differences,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await app.close();
