// A channel that always says yes: Alipay's gateway for precreate, signed. Both programs of the benchmark call it.
// Its private key comes as PEM in BENCH_CHANNEL_KEY; it prints its address as its only line.
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

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

const server = createServer(async (req, res) => {
  const form = new URLSearchParams(await read(req));
  if (form.get('method') !== 'alipay.trade.precreate') return void res.writeHead(404).end();
  const { out_trade_no } = JSON.parse(form.get('biz_content') ?? '{}') as { out_trade_no?: string };
  const qr_code = `https://qr.example/${out_trade_no}`;
  const answer = JSON.stringify({ code: '10000', msg: 'Success', out_trade_no, qr_code });
  res.setHeader('content-type', 'application/json');
  res.end(`{"alipay_trade_precreate_response":${answer},"sign":"${await signed(answer)}"}`);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
process.stdin.resume().once('close', () => process.exit(0));
