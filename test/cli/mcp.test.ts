import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import test from 'ava';
import { temporaryFolder } from '../support/folder.ts';
import { sitDown } from './mcp.ts';
import { startService, until } from '../support/service.ts';
import { addSkill } from '../support/skillpay.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ends: (() => unknown)[] = [];
const service = await startService({ teardown: (end) => void ends.push(end) });
await addSkill(service);
const shop = await service.merchant({ scopes: ['payment:read', 'payment:write', 'skillpay:call'] });
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

const READING = ['explain_order', 'list_orders', 'query_payment'];
const WRITING = ['call_paid_resource', 'close_payment', 'place_payment', 'refund_payment'];
const payment = { subject: 'Tea', amount: '10.00', payWay: 'alipay' };

test.serial(
  'a stock client lists and calls every tool and resource; a write runs once per idempotency key',
  async (t) => {
    const seat = await sitDown(t, service, shop, '--allow-write');
    const { tools } = await seat.client.listTools();
    t.deepEqual(tools.map(({ name }) => name).toSorted(), [...READING, ...WRITING].toSorted());
    for (const { name, annotations, outputSchema, inputSchema } of tools) {
      t.is(annotations?.readOnlyHint, READING.includes(name), name);
      t.is(outputSchema?.type, 'object');
      t.is(inputSchema.additionalProperties, false, name);
    }

    const placed = await seat.call('place_payment', { ...payment, idempotencyKey: 'first-key-1' });
    t.false(placed.isError, placed.text);
    const { orderNo } = placed.structured.data;
    t.like(placed.structured.data, { status: 'pending', amount: 10, currency: 'CNY' });
    t.truthy(placed.structured.data.payUrl);
    t.is(placed.structured.untrusted.texts.subject, 'Tea');
    const again = await seat.call('place_payment', { ...payment, idempotencyKey: 'first-key-1' });
    t.deepEqual(again.structured, placed.structured);
    const other = await seat.call('place_payment', { ...payment, amount: '11', idempotencyKey: 'first-key-1' });
    t.true(other.isError);
    t.is(other.structured.error.code, 'idempotency_key_reused');

    const query = await seat.call('query_payment', { orderNo });
    t.is(query.structured.data.orderNo, orderNo);
    const early = await seat.call('refund_payment', { orderNo, refundAmount: '1', idempotencyKey: 'refund-early' });
    t.true(early.isError);
    t.is(early.structured.error.code, 'order_not_paid');
    await service.sim('/sim/pay', { orderNo });
    await until('paid', async () => (await seat.call('query_payment', { orderNo })).structured.data.status === 'paid');
    const refund = { orderNo, refundAmount: '4', idempotencyKey: 'refund-key-1' };
    const refunded = await seat.call('refund_payment', refund);
    t.false(refunded.isError, refunded.text);
    t.is((await seat.call('refund_payment', refund)).structured.data.refundNo, refunded.structured.data.refundNo);
    const why = await seat.call('explain_order', { orderNo });
    t.regex(why.text, /The payer has paid/);

    const second = await seat.call('place_payment', { ...payment, payWay: 'wechat', idempotencyKey: 'second-key' });
    const closed = await seat.call('close_payment', {
      orderNo: second.structured.data.orderNo,
      idempotencyKey: 'close-key-1',
    });
    t.is(closed.structured.data.status, 'closed');
    const explained = await seat.call('explain_order', { orderNo: second.structured.data.orderNo });
    t.regex(explained.text, /The merchant closed the order/);
    const { structured: listed } = await seat.call('list_orders', { limit: 1 });
    t.is(listed.data.orders.length, 1);
    const next = await seat.call('list_orders', { limit: 1, cursor: listed.data.nextCursor });
    t.is(next.structured.data.orders[0].orderNo, orderNo);

    const { resources } = await seat.client.listResources();
    t.true(resources.some(({ uri }) => uri === `order://${orderNo}`));
    t.is((await seat.client.listResourceTemplates()).resourceTemplates[0]?.uriTemplate, 'order://{orderNo}');
    const read = async (uri: string) => {
      const [found] = (await seat.client.readResource({ uri })).contents;
      return JSON.parse(found && 'text' in found ? found.text : '');
    };
    t.is((await read(`order://${orderNo}`)).data.orderNo, orderNo);
    t.truthy((await read('service://doc.json')).paths['/api/v2/payment/pay']);
    const { resources: prices } = (await read('service://paid-resources')).data;
    t.true(prices.some(({ resource }: { resource: string }) => resource === 'weather'));
    await t.throwsAsync(seat.client.readResource({ uri: 'file:///etc/passwd' }), {
      message: /no MCP resource with this URI/,
    });
    await t.throwsAsync(seat.client.readResource({ uri: 'order://P20300101000000ABCDEFGHJK' }), {
      message: /not_found/,
    });
    t.false(seat.received().includes(shop.secret));
  },
);

test.serial('without --allow-write no write tool is listed or run', async (t) => {
  const before = await service.app.store.read((tx) => tx.orders.count({}));
  const seat = await sitDown(t, service, shop);
  const { tools } = await seat.client.listTools();
  t.deepEqual(tools.map(({ name }) => name).toSorted(), READING);
  for (const name of WRITING) {
    const { isError, structured } = await seat.call(name, { ...payment, idempotencyKey: 'a-write-key' });
    t.true(isError);
    t.is(structured.error.code, 'read_only');
  }
  t.regex(seat.stderr(), /read-only/);
  t.is(await service.app.store.read((tx) => tx.orders.count({})), before);
});

test.serial(
  'call_paid_resource creates one order per key, reports progress until the payment, then returns the content',
  async (t) => {
    const seat = await sitDown(t, service, shop, '--allow-write');
    const args = { idempotencyKey: 'paid-call-1', resource: 'weather', input: { city: 'Paris' } };
    const unpaid = await seat.call('call_paid_resource', { ...args, waitSeconds: 0 });
    t.false(unpaid.isError, unpaid.text);
    const { outTradeNo, paid, payUrl, qrCode } = unpaid.structured.data;
    t.false(paid);
    t.truthy(payUrl ?? qrCode);
    const same = await seat.call('call_paid_resource', { ...args, waitSeconds: 0 });
    t.is(same.structured.data.outTradeNo, outTradeNo);

    const left = new AbortController();
    const cancelled = seat.client.callTool(
      { name: 'call_paid_resource', arguments: { outTradeNo, waitSeconds: 50 } },
      undefined,
      { signal: left.signal, onprogress: () => left.abort('enough') },
    );
    await t.throwsAsync(cancelled);

    const seen: (string | undefined)[] = [];
    const got = await seat.client.callTool(
      { name: 'call_paid_resource', arguments: { ...args, waitSeconds: 50 } },
      undefined,
      {
        onprogress: ({ message }) => {
          if (seen.push(message) === 1) void service.sim('/sim/pay', { orderNo: outTradeNo });
        },
      },
    );
    const { data, untrusted } = got.structuredContent as { data: object; untrusted: { texts: { content: string } } };
    t.like(data, { outTradeNo, paid: true });
    t.deepEqual(JSON.parse(untrusted.texts.content), { sky: 'blue' });
    t.regex(seen[0] ?? '', /^Waiting for the payment/);
    const repeated = await seat.call('call_paid_resource', { outTradeNo });
    t.true(repeated.structured.data.alreadyFulfilled);
    t.is(await service.app.store.read((tx) => tx.orders.count({ kind: 'skillpay' })), 1);
    const both = await seat.call('call_paid_resource', { ...args, outTradeNo });
    t.is(both.structured.error.code, 'invalid_arguments');
  },
);

test.serial(
  'wrong arguments, an unknown tool and --max-calls return an error code; an expired token is renewed',
  async (t) => {
    const seat = await sitDown(t, service, shop, '--allow-write', '--max-calls', '1');
    t.is((await seat.call('query_payment', { orderNo: '../me' })).structured.error.code, 'invalid_arguments');
    t.is((await seat.call('query_payment', {})).structured.error.code, 'invalid_arguments');
    t.is((await seat.call('change_limits', {})).structured.error.code, 'unknown_tool');
    const missing = await seat.call('query_payment', { orderNo: 'P20300101000000ABCDEFGHJK' });
    t.like(missing.structured.error, { code: 'not_found', status: 404 });
    t.false((await seat.call('place_payment', { ...payment, idempotencyKey: 'only-one-1' })).isError);
    const more = await seat.call('place_payment', { ...payment, idempotencyKey: 'only-one-2' });
    t.is(more.structured.error.code, 'too_many_writes');
    service.clock.advance(24 * 3600);
    const renewed = await seat.call('list_orders');
    t.false(renewed.isError, renewed.text);
  },
);

async function session(
  lines: string,
  env: Record<string, string>,
): Promise<{ code: number; out: string; err: string }> {
  const args = [`${root}/bin/payctl.ts`, 'mcp', '--server', service.url];
  const child = spawn(process.execPath, args, { env: { ...env, PAYCTL_CONFIG_DIR: '/nonexistent' } });
  let out = '';
  let err = '';
  child.stdout.on('data', (part: Buffer) => (out += part.toString()));
  child.stderr.on('data', (part: Buffer) => (err += part.toString()));
  child.stdin.on('error', () => {});
  child.stdin.end(lines);
  const [code] = await once(child, 'close');
  return { code: Number(code), out, err };
}

test.serial('an invalid message is ignored; the end of stdin ends the process after the last answer', async (t) => {
  const env = { PAYCTL_CLIENT_ID: shop.clientId, PAYCTL_CLIENT_SECRET: shop.secret };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const messages = [
    'this is no JSON',
    '[]',
    '{"jsonrpc":"2.0","id":7}',
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'no/such/method' }),
    JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'list_orders' } }),
  ];
  const { code, out, err } = await session(`${messages.join('\n')}\n`, env);
  t.is(code, 0, err);
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.deepEqual(answers.map(({ id }) => id).toSorted(), [1, 2, 3]);
  t.is(answers.find(({ id }) => id === 2).error.code, -32601);
  t.true(answers.find(({ id }) => id === 3).result.structuredContent.ok);
  t.regex(err, /A message was not understood/);
});

test.serial('wrong or missing credentials end the process at its start', async (t) => {
  const wrong = await session('', { PAYCTL_CLIENT_ID: shop.clientId, PAYCTL_CLIENT_SECRET: 'pays_wrong0000000000' });
  t.is(wrong.code, 4, wrong.err);
  t.is(wrong.out, '');
  t.false(wrong.err.includes('pays_wrong'));
  const none = await session('', {});
  t.is(none.code, 2);
  t.regex(none.err, /PAYCTL_CLIENT_ID/);
});

test.serial('the sample in the guide starts when only the server and the secret file are replaced', async (t) => {
  const text = readFileSync(`${root}/server/pages/guides/en/pay-per-call.md`, 'utf8');
  const [, sample = ''] = /## Agents with tools[^]*?```json\n([^]*?)```/.exec(text) ?? [];
  const { mcpServers } = JSON.parse(sample) as {
    mcpServers: Record<string, { command: string; args: string[]; env: Record<string, string> }>;
  };
  const { command, args, env } = mcpServers['payments'] ?? { command: '', args: [], env: {} };
  t.is(command, 'payctl');
  t.deepEqual(Object.keys(env), ['PAYCTL_CLIENT_ID', 'PAYCTL_CLIENT_SECRET_FILE']);
  const folder = temporaryFolder(t, { 'shop.secret': `${shop.secret}\n` });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [`${root}/bin/payctl.ts`, ...args.map((word) => (word.startsWith('http') ? service.url : word))],
    env: { ...env, PAYCTL_CLIENT_ID: shop.clientId, PAYCTL_CLIENT_SECRET_FILE: `${folder}/shop.secret` },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.teardown(() => client.close());
  await client.connect(transport);
  t.is((await client.listTools()).tools.length, READING.length);
});

test.serial('a signal ends the process after pending calls are answered', async (t) => {
  const seat = await sitDown(t, service, shop, '--allow-write');
  // A second signal would end the process immediately.
  let isSent = false;
  const closed = new Promise<void>((resolve) => (seat.client.onclose = resolve));
  const answer = await seat.client.callTool(
    {
      name: 'call_paid_resource',
      arguments: { idempotencyKey: 'paid-call-signal', resource: 'weather', waitSeconds: 50 },
    },
    undefined,
    {
      onprogress: () => {
        if (!isSent) process.kill(seat.pid, 'SIGTERM');
        isSent = true;
      },
    },
  );
  t.like(answer.structuredContent, { ok: true, data: { paid: false } });
  await closed;
});

test.serial('an unreachable service is a tool error, and payctl mcp keeps running', async (t) => {
  const seat = await sitDown(t, service, shop, '--allow-write');
  await service.stop();
  const away = await seat.call('list_orders');
  t.true(away.isError);
  t.is(away.structured.error.code, 'unreachable');
  const write = await seat.call('place_payment', { ...payment, idempotencyKey: 'while-away-1' });
  t.regex(write.structured.error.message, /same key and the same arguments/);
  t.is((await seat.client.listTools()).tools.length, READING.length + WRITING.length);
});
