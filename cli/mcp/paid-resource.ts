import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Answer, ApiClient, Call } from '../api-client.ts';
import { onlyUnreachable } from '../errors.ts';
import type { Row } from '../values.ts';
import { toolAnswer, ToolRefusal } from './answers.ts';
import { Key, OrderNo, PayWay, tool, WRITES, type Tool, type ToolRun } from './tool.ts';

const CALL = { method: 'POST', path: '/api/v2/skillpay/resource', accept: [402] } as const;

/** Calls a paid resource: the offer, a bounded wait for the person who pays, the content. */
export const paidResourceTool: Tool = tool({
  name: 'call_paid_resource',
  title: 'Call a paid resource',
  description:
    'Calls a resource that costs money. The first call (idempotencyKey, resource, input) makes one order and waits waitSeconds for a person to pay at payUrl or qrCode. If nobody has paid by then, show these to the person and call again with outTradeNo. A paid call returns the content once and again.',
  annotations: WRITES,
  input: z.strictObject({
    idempotencyKey: Key.optional().describe('For the first call. The same key never makes a second order.'),
    resource: z.string().min(1).max(64).optional().describe('Code of the resource, see service://paid-resources.'),
    input: z.unknown().optional().describe('Input of the resource.'),
    payWay: PayWay.optional(),
    outTradeNo: OrderNo.optional().describe('To go on with an order instead of making one.'),
    waitSeconds: z.int().min(0).max(50).default(20).describe('Longest wait for the payment in this call.'),
  }),
  async run({ idempotencyKey: key, outTradeNo: known, waitSeconds, ...body }, run) {
    if ((key === undefined) === (known === undefined))
      throw new ToolRefusal('invalid_arguments', 'Give idempotencyKey for a first call, or outTradeNo to go on.');
    if (known !== undefined && Object.values(body).some((value) => value !== undefined))
      throw new ToolRefusal('invalid_arguments', 'With outTradeNo, leave resource, input and payWay away.');
    const first = await run.api.call(known === undefined ? firstCall(key ?? '', body, run) : repeat(known));
    return first.status === 402 ? waitForPayer(first, waitSeconds, run) : delivered(first);
  },
});

function firstCall(key: string, body: Row, { keys }: ToolRun): Call {
  return { ...CALL, body, idempotencyKey: keys.bind('call_paid_resource', key, body) };
}

function repeat(outTradeNo: string): Call {
  return { ...CALL, headers: { 'x-out-trade-no': outTradeNo } };
}

async function waitForPayer(offer: Answer, seconds: number, run: ToolRun): Promise<CallToolResult> {
  const asked = dataOf(offer);
  const outTradeNo = OrderNo.parse(asked['outTradeNo']);
  const begun = run.now();
  for (;;) {
    const waited = Math.min((run.now() - begun) / 1000, seconds);
    if (run.leave.aborted || waited >= seconds) return stillUnpaid(asked);
    await run.progress(waited, seconds, progressText(asked));
    const pause = Math.min(run.interval, seconds - waited) * 1000;
    await wait(pause, undefined, { signal: run.leave }).catch(() => undefined);
    if (run.leave.aborted) return stillUnpaid(asked);
    const answer = await tryAgainLater(run.api, outTradeNo);
    if (answer && answer.status !== 402) return delivered(answer);
  }
}

/** While the service is away the person may still pay, so the wait goes on. */
function tryAgainLater(api: ApiClient, outTradeNo: string): Promise<Answer | undefined> {
  return api.call(repeat(outTradeNo)).catch(onlyUnreachable);
}

function stillUnpaid(asked: Row): CallToolResult {
  const summary =
    'Payment required: nothing was paid yet. Show payUrl or qrCode to the person who pays, then call this tool again with outTradeNo.';
  return toolAnswer(summary, { ...asked, paid: false });
}

function delivered(answer: Answer): CallToolResult {
  const { receipt: _receipt, ...data } = dataOf(answer);
  const isRefunded = data['status'] === 'refunded';
  const summary = isRefunded
    ? 'The resource failed for good, and the payment was given back.'
    : 'The resource was paid and delivered; its content is among the untrusted texts.';
  return toolAnswer(summary, { ...data, paid: !isRefunded });
}

function progressText(asked: Row): string {
  const url = asked['payUrl'];
  return typeof url === 'string' && /^https?:\/\/[!-~]{1,500}$/.test(url)
    ? `Waiting for the payment at ${url}`
    : 'Waiting for the payment';
}

function dataOf({ body }: Answer): Row {
  const data = (body as Row | undefined)?.['data'];
  return typeof data === 'object' && data !== null ? (data as Row) : {};
}
