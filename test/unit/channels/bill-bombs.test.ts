import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { constants, deflateRawSync } from 'node:zlib';
import test from 'ava';
import { bounded, MOST_BYTES, refuseBomb } from '../../../server/channels/bill-bytes.ts';
import { BillMalformed } from '../../../server/payments/channel.ts';
import * as alipay from './alipay/bill-file.ts';
import { billFile } from './bill-trial.ts';
import * as wechat from './wechat/bill-file.ts';

const run = promisify(execFile);
const MEGABYTE = 1024 * 1024;
const GIGABYTE = 1024 * MEGABYTE;

/** Compresses a head and a gigabyte of equal rows by repeating one compressed piece. */
function deflated(head: Buffer, row: Buffer): Buffer {
  const open = { finishFlush: constants.Z_FULL_FLUSH };
  const rows = Math.floor(MEGABYTE / row.length);
  const piece = deflateRawSync(Buffer.concat(Array.from({ length: rows }, () => row)), open);
  const pieces = Array.from({ length: GIGABYTE / (rows * row.length) + 1 }, () => piece);
  return Buffer.concat([deflateRawSync(head, open), ...pieces, deflateRawSync(Buffer.alloc(0))]);
}

const at = (path: string): string => JSON.stringify(new URL(`../../../server/channels/${path}`, import.meta.url).href);
const READERS = {
  wechat: `(await import(${at('wechat/bill-file.ts')})).readTradeBill(file, '${wechat.DAY}', { mchid: '${wechat.MCHID}' })`,
  alipay: `(await import(${at('alipay/bill-file.ts')})).readBill(file, '${alipay.DAY}', '${alipay.SELLER}')`,
};

/** Runs a reader in its own process and returns its result, the line count and the peak memory in megabytes. */
async function readAlone(reader: string, file: string): Promise<{ said: string; lines: number; peak: number }> {
  const script = `
    const file = process.argv[1];
    let lines = 0;
    let said = 'read';
    try {
      for await (const part of ${reader}) if (part.kind === 'lines') lines += part.lines.length;
    } catch (error) {
      said = String(error.fault ?? error);
    }
    console.log(JSON.stringify({ said, lines, peak: process.resourceUsage().maxRSS / 1024 }));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, file]);
  return JSON.parse(stdout) as { said: string; lines: number; peak: number };
}

test('a WeChat Pay bill that expands to a gigabyte is refused early and with little memory', async (t) => {
  const row = Buffer.from(`${wechat.rowText(wechat.cellsOf({ ordered: 100 }))}\r\n`);
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  const bomb = Buffer.concat([header, deflated(Buffer.from(`${wechat.HEADER}\r\n`), row), Buffer.alloc(8)]);
  t.true(bomb.length < 16 * MEGABYTE);
  const { said, lines, peak } = await readAlone(READERS.wechat, await billFile(t, bomb));
  t.is(said, 'too_large');
  t.true(lines * row.length < 20 * MEGABYTE, String(lines));
  t.true(peak < 400, String(peak));
});

test('an Alipay zip with a gigabyte is refused by its stated size, and also if it exceeds its stated size', async (t) => {
  const row = alipay.gbk([alipay.cellsOf({ ordered: 100 }).join(',')]);
  const packed = deflated(alipay.gbk(alipay.detailLines([]).slice(0, 5)), row);
  t.true(packed.length < 16 * MEGABYTE);
  for (const size of [GIGABYTE + 1, GIGABYTE - 1, 10 * MEGABYTE]) {
    const zip = alipay.zipOf([{ name: alipay.DETAILS_NAME, bytes: Buffer.alloc(0), packed, size }]);
    const { said, lines, peak } = await readAlone(READERS.alipay, await billFile(t, zip));
    t.is(said, 'too_large', String(size));
    t.true(lines * row.length <= (size < GIGABYTE / 2 ? size : 0), String(lines));
    t.true(peak < 400, String(peak));
  }
});

test('the unpacked size is limited, by ratio and in total', async (t) => {
  t.notThrows(() => refuseBomb(MOST_BYTES, MOST_BYTES / 30));
  t.throws(() => refuseBomb(MOST_BYTES + 1, MOST_BYTES), { instanceOf: BillMalformed, message: /larger than/ });
  t.notThrows(() => refuseBomb(16 * MEGABYTE, 1));
  t.throws(() => refuseBomb(16 * MEGABYTE + 1, 1), { instanceOf: BillMalformed, message: /200 times/ });
  const piece = new Uint8Array(MEGABYTE);
  let given = 0;
  const endless = (async function* (): AsyncGenerator<Uint8Array> {
    for (; ; given += 1) yield piece;
  })();
  const reading = (async () => {
    for await (const _piece of bounded(endless));
  })();
  await t.throwsAsync(reading, { instanceOf: BillMalformed, message: /larger than/ });
  t.is(given, 1024);
});
