import test from 'ava';
import type { SkillResource } from '../../../server/db/entities/catalog.ts';
import type { SkillOrderRow } from '../../../server/db/entities/skillpay.ts';
import { OutgoingFailed, type OutgoingFault } from '../../../server/outgoing/sender.ts';
import { HandlerFailed, runHandler } from '../../../server/skillpay/handlers.ts';

const orderNo = 'X20300101000000ABCDEFGHJK';
const skill = (handler: SkillResource, input: unknown = { city: 'Paris' }) =>
  ({ orderNo, resource: 'weather', input, handler }) as SkillOrderRow;
const http = { handler: 'http', url: 'https://up.example/run' } as const;
const nobody = () => Promise.reject(new Error('nobody is called'));

async function failureOf(work: Promise<unknown>): Promise<HandlerFailed> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof HandlerFailed) return error;
  throw new Error(`no failure: ${String(error)}`);
}

function answering(status: number, body: Buffer | string = '', headers: Record<string, string> = {}) {
  return async () => ({ status, headers, body: Buffer.from(body as string) });
}

test('static content is stored exactly as it is replayed', async (t) => {
  const json = await runHandler(nobody, skill({ handler: 'static', content: { b: 1, a: [null] } }));
  t.deepEqual(json, { text: '{"b":1,"a":[null]}', contentType: 'application/json' });
  const text = await runHandler(nobody, skill({ handler: 'static', content: 'hé', contentType: 'text/markdown' }));
  t.deepEqual(text, { text: 'hé', contentType: 'text/markdown' });
  const large = await failureOf(runHandler(nobody, skill({ handler: 'static', content: 'x'.repeat(65_537) })));
  t.like(large, { code: 'content_too_large', transient: false });
});

test('the upstream receives the input and the number as its key, but no caller data', async (t) => {
  const sent: unknown[] = [];
  const content = await runHandler(
    async (request) => {
      sent.push(request);
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.from('ok') };
    },
    skill({ ...http, timeoutMs: 500 }),
  );
  t.deepEqual(content, { text: 'ok', contentType: 'text/plain' });
  t.deepEqual(sent, [
    {
      url: http.url,
      timeoutMs: 500,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/*;q=0.9, */*;q=0.1',
        'idempotency-key': orderNo,
        'x-out-trade-no': orderNo,
        'x-resource': 'weather',
      },
      body: '{"city":"Paris"}',
    },
  ]);
});

test('a transient fault may be retried, and any other fault is final', async (t) => {
  for (const status of [500, 502, 503, 504, 408, 425, 429])
    t.true((await failureOf(runHandler(answering(status), skill(http)))).transient, String(status));
  for (const status of [400, 401, 404, 422, 301, 302, 307, 308])
    t.false((await failureOf(runHandler(answering(status), skill(http)))).transient, String(status));
  t.is((await failureOf(runHandler(answering(302), skill(http)))).code, 'upstream_redirected');
  const faults: [OutgoingFault, boolean][] = [
    ['timeout', true],
    ['network', true],
    ['unresolvable', true],
    ['too_large', false],
    ['address_refused', false],
    ['scheme_refused', false],
    ['url_invalid', false],
  ];
  for (const [why, transient] of faults) {
    const failure = await failureOf(runHandler(() => Promise.reject(new OutgoingFailed(why, 'no')), skill(http)));
    t.like(failure, { code: `upstream_${why}`, transient });
  }
});

test('only text is accepted as content', async (t) => {
  for (const body of [Buffer.from([0xff, 0xfe]), Buffer.from('a\0b')])
    t.is((await failureOf(runHandler(answering(200, body), skill(http)))).code, 'content_not_text');
});
