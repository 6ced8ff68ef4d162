import test from 'ava';
import { Forbidden, Unauthenticated } from '../../../server/errors.ts';
import { guardedStreams } from '../../../server/events/stream.ts';

async function read(looks: readonly string[], check: (time: number) => unknown, options = {}): Promise<string> {
  let time = 0;
  const open = guardedStreams({ recheckMs: 0, heartbeatMs: 60_000, ...options });
  let text = '';
  for await (const part of open(
    (async function* () {
      yield* looks;
    })(),
    async () => check((time += 1)),
  ))
    text += String(part);
  return text;
}

test('every message is authorized before it is sent, including the first one', async (t) => {
  const refuseFrom = (first: number) => (time: number) => {
    if (time >= first) throw new Unauthenticated();
  };
  const refusal = 'event: error\ndata: {"code":"unauthenticated"}\n\n';
  t.is(await read(['a', 'b'], refuseFrom(1)), refusal);
  t.is(await read(['a', '', 'b'], refuseFrom(2)), `a${refusal}`);
  t.is(await read(['a', 'b'], refuseFrom(3)), 'ab');
});

test('a look without new events sends nothing, or a heartbeat after a while', async (t) => {
  t.is(await read(['', 'a', ''], () => {}), 'a');
  t.is(await read(['', 'a'], () => {}, { heartbeatMs: 0 }), ': heartbeat\n\na');
});

test('only a refusal is reported as one, and any other error makes the reader reconnect', async (t) => {
  const codeOf = async (error: Error) => {
    const text = await read(['a'], () => {
      throw error;
    });
    return /"code":"(\w+)"/.exec(text)?.[1];
  };
  t.is(await codeOf(new Forbidden('role_insufficient', 'Your role was changed.')), 'role_insufficient');
  t.is(await codeOf(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })), 'unavailable');
  t.is(await codeOf(new Error('x')), 'unavailable');
});

test('a draining server sends nothing more', async (t) => {
  t.is(await read(['a'], () => {}, { isDraining: () => true }), '');
});

test('a disconnected reader stops the looks even if nothing is sent', async (t) => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const next = Promise.withResolvers<void>();
  const open = guardedStreams({ heartbeatMs: 60_000 });
  const body = open(
    (async function* () {
      try {
        begun.resolve();
        await next.promise;
        for (;;) yield '';
      } finally {
        ended.resolve();
      }
    })(),
    async () => {},
  );
  body.resume();
  await begun.promise;
  body.destroy();
  next.resolve();
  await ended.promise;
  t.pass();
});
