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

/** A beginning and then a gigabyte of the same rows, deflated: one packed piece over and over. */
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

/** What a reader says to a file in a process of its own, after how many lines, and the megabytes that this took at most. */
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

test('a bill of WeChat Pay that holds a gigabyte of rows in some megabytes is refused early, in little memory', async (t) => {
  const row = Buffer.from(`${wechat.rowText(wechat.cellsOf({ ordered: 100 }))}\r\n`);
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  const bomb = Buffer.concat([header, deflated(Buffer.from(`${wechat.HEADER}\r\n`), row), Buffer.alloc(8)]);
  t.true(bomb.length < 16 * MEGABYTE);
  const { said, lines, peak } = await readAlone(READERS.wechat, await billFile(t, bomb));
  t.is(said, 'too_large');
  t.true(lines * row.length < 20 * MEGABYTE, String(lines));
  t.true(peak < 400, String(peak));
});

test('a zip of Alipay with a gigabyte is refused by what it says of itself, and by more than it says', async (t) => {
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

test('what shrinks as bills do has a limit, too, packed or not', async (t) => {
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
