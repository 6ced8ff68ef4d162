import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Call, FaultName } from '../faults.ts';
import { isOfKind } from '../file-kind.ts';
import type { Core } from '../half.ts';
import type { Trade } from '../trade.ts';
import { readChinaTime } from './china-time.ts';
import {
  COMPLAINT_STATUS,
  complaintsOf,
  isOver,
  present,
  PROCESS_CODES,
  process,
  statusOf,
  type AlipayComplaint,
} from './complaints.ts';
import { sellerOf } from './model.ts';
import { AlipayRefusal, success, type Content } from './reply.ts';
import type { AlipayRequest } from './request.ts';

/** Integers of a request: Alipay's own clients write them as numbers or as text. */
const Whole = z.union([z.int(), z.string().regex(/^\d{1,18}$/)]).transform(Number);
const Time = z.string().transform((text, ctx) => {
  const at = readChinaTime(text);
  if (at === undefined) ctx.addIssue('is not a time');
  return at ?? 0;
});
const keysOf = <Key extends string>(table: Record<Key, unknown>) => Object.keys(table) as [Key, ...Key[]];

const ListRequest = z.object({
  current_page_num: Whole.pipe(z.int().min(1)).default(1),
  page_size: Whole.pipe(z.int().min(1)).default(10),
  gmt_complaint_start: Time.optional(),
  gmt_complaint_end: Time.optional(),
  gmt_process_start: Time.optional(),
  gmt_process_end: Time.optional(),
  status_list: z.array(z.enum(keysOf(COMPLAINT_STATUS))).optional(),
  task_id: z.string().optional(),
  task_id_list: z.array(z.string()).optional(),
  trade_no: z.string().optional(),
});
const ReadRequest = z.object({ complain_id: Whole });
const FinishRequest = z.object({
  id_list: z.array(Whole).min(1),
  process_code: z.enum(keysOf(PROCESS_CODES)),
  remark: z.string().default(''),
  img_file_list: z.array(z.object({ img_url: z.string().min(1), img_url_key: z.string().min(1) })).default([]),
});

/** Complaints of consumers (RiskGO): methods and members are those of the request and response models of alipay-sdk-java-all. */
export const COMPLAINT_METHODS: Readonly<
  Record<
    string,
    { call: Call; act: (core: Core, request: AlipayRequest, fault: FaultName | undefined) => { content: Content } }
  >
> = {
  'alipay.security.risk.complaint.info.batchquery': { call: 'dispute', act: list },
  'alipay.security.risk.complaint.info.query': { call: 'dispute', act: read },
  'alipay.security.risk.complaint.process.finish': { call: 'dispute-deed', act: finish },
  'alipay.security.risk.complaint.file.upload': { call: 'dispute-image', act: upload },
};

interface Found {
  trade: Trade;
  complaint: AlipayComplaint;
}

function list(core: Core, request: AlipayRequest, fault: FaultName | undefined): { content: Content } {
  const asked = parse(ListRequest, request);
  const { status_list: states, task_id: task, task_id_list: tasks, trade_no: tradeNo } = asked;
  const found = (fault === 'query-lag' ? [] : allOf(core, request))
    .filter(({ complaint: { createdAt } }) => isWithin(createdAt, asked.gmt_complaint_start, asked.gmt_complaint_end))
    .filter(({ complaint: { processedAt } }) => isWithin(processedAt, asked.gmt_process_start, asked.gmt_process_end))
    .filter(({ complaint }) => states === undefined || states.includes(statusOf(core, complaint)))
    .filter(({ complaint: { taskId } }) => (task ?? taskId) === taskId && (tasks?.includes(taskId) ?? true))
    .filter(({ trade }) => tradeNo === undefined || String(trade.details['tradeNo']) === tradeNo)
    .toSorted((a, b) => b.complaint.createdAt - a.complaint.createdAt || b.complaint.id - a.complaint.id);
  const { current_page_num: page, page_size: size } = asked;
  return {
    content: success({
      total_size: found.length,
      current_page: page,
      page_size: size,
      complaint_list: found
        .slice((page - 1) * size, page * size)
        .map(({ trade, complaint }) => present(core, trade, complaint, request.account.sellerId)),
    }),
  };
}

function read(core: Core, request: AlipayRequest, fault: FaultName | undefined): { content: Content } {
  if (fault === 'query-lag') throw unknownHere();
  const { trade, complaint } = named(core, request, parse(ReadRequest, request).complain_id);
  return { content: success({ ...present(core, trade, complaint, request.account.sellerId) }) };
}

/** All that are named, or none. */
function finish(core: Core, request: AlipayRequest): { content: Content } {
  const { id_list: ids, process_code: code, remark, img_file_list: images } = parse(FinishRequest, request);
  const found = ids.map((id) => named(core, request, id));
  if (found.some(({ complaint }) => isOver(complaint)))
    throw new AlipayRefusal('40004', 'COMPLAINT_PROCESSED', 'The complaint was dealt with already.');
  if (images.some(({ img_url, img_url_key: key }) => filesOf(core).get(key) !== `${request.account.name} ${img_url}`))
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'img_file_list is invalid.');
  const urls = images.map(({ img_url: url }) => url);
  for (const { trade, complaint } of found) {
    process(core, complaint, code, remark, urls);
    core.trades.record(trade, 'updated', { number: String(complaint.id) });
  }
  return { content: success({ complaint_process_success: true }) };
}

/** By the simulator, whose each file is and where: they do not outlive it. */
const uploaded = new WeakMap<Core, Map<string, string>>();

function filesOf(core: Core): Map<string, string> {
  const files = uploaded.get(core) ?? new Map<string, string>();
  uploaded.set(core, files);
  return files;
}

/** One image of 5 MB at most (comment of `file_content` in alipay-sdk-java-all). */
function upload(core: Core, { account, files }: AlipayRequest): { content: Content } {
  const file = files.find(({ name }) => name === 'file_content');
  const { bytes = Buffer.alloc(0), fileName = '' } = file ?? {};
  if (bytes.length > 5 * 1024 * 1024 || !isOfKind(bytes, fileName, ['jpg', 'png', 'gif', 'bmp']))
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'file_content is invalid.');
  const key = randomUUID();
  const url = `${core.url}/afts/img/${key}`;
  filesOf(core).set(key, `${account.name} ${url}`);
  return { content: success({ file_key: key, file_name: fileName, file_url: url }) };
}

function allOf(core: Core, { account, sellers }: AlipayRequest): Found[] {
  return [...core.ledger.trades.values()]
    .filter(({ payWay, account: name }) => payWay === 'alipay' && name === account.name)
    .filter((trade) => sellers.includes(sellerOf(trade, account)))
    .flatMap((trade) => complaintsOf(trade).map((complaint) => ({ trade, complaint })));
}

function named(core: Core, request: AlipayRequest, id: number): Found {
  const found = allOf(core, request).find(({ complaint }) => complaint.id === id);
  if (!found) throw unknownHere();
  return found;
}

function unknownHere(): AlipayRefusal {
  return new AlipayRefusal('40004', 'COMPLAINT_NOT_EXIST', 'The complaint does not exist.');
}

function isWithin(at: number | null, from: number | undefined, to: number | undefined): boolean {
  if (from === undefined && to === undefined) return true;
  return at !== null && at >= (from ?? 0) && at <= (to ?? Infinity);
}

function parse<T>(schema: z.ZodType<T>, { content }: AlipayRequest): T {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = issue?.path.map(String).join('.') ?? '';
  throw new AlipayRefusal('40002', 'isv.invalid-parameter', `${name} is invalid.`);
}
