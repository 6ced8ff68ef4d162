import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { createDownload } from '../../../server/channels/transport.ts';
import { TransportFailed, type WireRequest } from '../../../server/payments/channel.ts';
import { serve } from '../../support/free-port.ts';

const get = (url: string, headers = {}): WireRequest => ({ method: 'GET', url, headers, about: { call: 'bill' } });
const download = createDownload({ stallMs: 20_000 });
async function bytesOf(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('a file of any size arrives complete, with its status and headers', async (t) => {
  const file = Buffer.alloc(5 * 1024 * 1024, 'bill');
  const seen: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { 'X-Kind': 'zip', 'content-length': file.length }).end(file);
  });
  const { status, headers, bytes } = await download(get(url, { authorization: 'signed' }));
  t.deepEqual([status, headers['x-kind'], seen], [200, 'zip', ['signed']]);
  t.true((await bytesOf(bytes)).equals(file));
});

test('a body without a length, an empty body and a compressed body arrive complete', async (t) => {
  const answers: RequestListener[] = [
    (_, response) => void (response.write('a'), response.end('b')),
    (_, response) => void response.writeHead(204).end(),
    (_, response) => {
      const packed = gzipSync('packed');
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed);
    },
  ];
  const texts: string[] = [];
  for (const answer of answers) {
    const { bytes } = await download(get(await serve(t, answer)));
    texts.push((await bytesOf(bytes)).toString());
  }
  t.deepEqual(texts, ['ab', '', 'packed']);
});

test('a truncated file fails even after valid data', async (t) => {
  const cut: RequestListener = (_, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('half', () => response.destroy());
  };
  const chunked: RequestListener = (_, response) => void response.write('half', () => response.destroy());
  for (const answer of [cut, chunked]) {
    const url = await serve(t, answer);
    const error = await t.throwsAsync(async () => bytesOf((await download(get(url))).bytes), {
      instanceOf: TransportFailed,
    });
    t.is(error?.why, 'network');
  }
});

test('a silent or stalled download fails after the stall time', async (t) => {
  const silent = await serve(t, () => {});
  const stalled = await serve(t, (_, response) => void response.writeHead(200).write('half'));
  const impatient = createDownload({ stallMs: 100 });
  const first = await t.throwsAsync(impatient(get(silent)), { instanceOf: TransportFailed });
  const second = await t.throwsAsync(async () => bytesOf((await impatient(get(stalled))).bytes), {
    instanceOf: TransportFailed,
  });
  t.deepEqual([first?.why, second?.why], ['timeout', 'timeout']);
});

test('a redirect is not followed', async (t) => {
  const seen: (string | undefined)[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const { status } = await download(get(`${url}/first`));
  t.deepEqual([status, seen], [302, ['/first']]);
});

test('a reader that stops early ends the download, even before the first byte', async (t) => {
  for (const leave of [
    async (bytes: AsyncIterable<Uint8Array>) => {
      for await (const _ of bytes) break;
    },
    async (bytes: AsyncIterable<Uint8Array>) => void (await bytes[Symbol.asyncIterator]().return?.()),
  ]) {
    let closed: () => void = () => {};
    const ended = new Promise<void>((resolve) => (closed = resolve));
    const url = await serve(t, (_, response) => {
      response.on('close', () => closed());
      response.writeHead(200).write('and so on');
    });
    await leave((await download(get(url))).bytes);
    await t.notThrowsAsync(ended);
  }
});

test('an unreachable host is a network failure', async (t) => {
  const error = await t.throwsAsync(download(get('http://127.0.0.1:1/')), { instanceOf: TransportFailed });
  t.is(error?.why, 'network');
});
