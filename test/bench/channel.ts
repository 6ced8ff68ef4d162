// Alipay's gateway, signed: every create is accepted, every query answers "not paid" after 20 ms. Connections of another channel are
// accepted and never answered. All programs of the benchmark call it; `GET /stats` returns the call counts. Its private key comes as
// PEM in BENCH_CHANNEL_KEY; it prints its address as its only line.
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const ANSWERS_AFTER_MS = 20;

/** The call counts; `heldMs` are the durations of abandoned silent calls. */
const stats = { queried: 0, silent: 0, silentNow: 0, mostSilent: 0, heldMs: [] as number[] };
const key = createPrivateKey(process.env['BENCH_CHANNEL_KEY'] ?? '');

async function read(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req.setEncoding('utf8')) text += chunk;
  return text;
}

function signed(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    sign('RSA-SHA256', Buffer.from(text), key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64')),
    );
  });
}

/** The gateway's answer to a method; undefined = unknown method. */
const METHODS: Readonly<Record<string, (out_trade_no: string | undefined) => Promise<object>>> = {
  'alipay.trade.precreate': async (out_trade_no) => ({ out_trade_no, qr_code: `https://qr.example/${out_trade_no}` }),
  async 'alipay.trade.query'(out_trade_no) {
    await sleep(ANSWERS_AFTER_MS);
    stats.queried += 1;
    return { out_trade_no, trade_no: '', trade_status: 'WAIT_BUYER_PAY', total_amount: '12.50' };
  },
};

function keepSilent({ socket }: IncomingMessage): void {
  const since = performance.now();
  stats.silent += 1;
  stats.silentNow += 1;
  stats.mostSilent = Math.max(stats.mostSilent, stats.silentNow);
  socket.once('close', () => {
    stats.silentNow -= 1;
    stats.heldMs.push(Math.round(performance.now() - since));
  });
}

const server = createServer(async (req, res) => {
  if (req.url === '/stats') return void res.end(JSON.stringify(stats));
  if (/^\/(wechat|paypal)\//.test(req.url ?? '')) return keepSilent(req);
  if (!req.url?.startsWith('/alipay/')) return void res.writeHead(404).end();
  const form = new URLSearchParams(await read(req));
  const method = form.get('method') ?? '';
  const { out_trade_no } = JSON.parse(form.get('biz_content') ?? '{}') as { out_trade_no?: string };
  const said = await METHODS[method]?.(out_trade_no);
  if (!said) return void res.writeHead(404).end();
  const answer = JSON.stringify({ code: '10000', msg: 'Success', ...said });
  res.setHeader('content-type', 'application/json');
  res.end(`{"${method.replaceAll('.', '_')}_response":${answer},"sign":"${await signed(answer)}"}`);
});
server.keepAliveTimeout = 60_000;
server.requestTimeout = 0;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
process.stdin.resume().once('close', () => process.exit(0));
