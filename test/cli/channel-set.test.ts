import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Prompts, Question } from '../../cli/prompts.ts';
import { makePlace, type Place, scripted } from './payctl.ts';
import { schema } from './fakes/rows.ts';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

async function place(t: ExecutionContext): Promise<Place> {
  const made = await makePlace();
  t.teardown(() => made.close());
  const certKinds = [
    { kind: 'app_key', label: 'App key', form: 'private-key', verifies: false, help: 'Signs requests.' },
  ];
  made.api.on('GET /api/v1/payment/config/alipay/schema', () => ({ body: { data: { ...schema, certKinds } } }));
  return made;
}

/** Prompts that answer by the label of the question; after a rejected answer the next one is given. */
function answering(answers: Record<string, string[]>): Prompts & { refused: string[]; modes: string[] } {
  const refused: string[] = [];
  const modes: string[] = [];
  const answer = async ({ message, validate }: Question): Promise<string> => {
    const [, given = ['']] = Object.entries(answers).find(([label]) => message.includes(label)) ?? [];
    for (const one of given) {
      const verdict = validate?.(one) ?? true;
      if (verdict === true) return one;
      refused.push(verdict);
    }
    throw new Error(`no good answer to ${message}`);
  };
  return {
    ...scripted(),
    refused,
    modes,
    text: answer,
    secret: answer,
    choose: async (_question, choices) => {
      modes.push(...choices.map(({ value }) => value));
      return answers['Mode']?.[0] ?? choices[0]!.value;
    },
  };
}

const written = (at: Place) =>
  at.api.seen.findLast(({ path, method }) => method === 'POST' && path.endsWith('/config/alipay'))?.body;

test('channel set prompts for each field with its help, and rejects an invalid value immediately', async (t) => {
  const at = await place(t);
  await writeFile(join(at.folder, 'app.key'), privateKey);
  await writeFile(join(at.folder, 'notes.txt'), 'no key at all');
  const prompts = answering({
    Mode: ['sandbox'],
    'App ID': ['abc', '2021'],
    Key: ['s3cret'],
    'App key': ['missing.key', 'notes.txt', 'app.key'],
  });
  const { code, stderr } = await at.payctl(['channel', 'set', 'alipay'], { prompts });
  t.is(code, 0, stderr);
  t.deepEqual(written(at), { mode: 'sandbox', appId: '2021', key: 's3cret', app_key: privateKey.trimEnd() });
  t.regex(stderr, /^ {2}Digits\.$/m);
  t.regex(stderr, /^ {2}Signs requests\.$/m);
  t.deepEqual(prompts.refused.slice(0, 1), ['App ID has an invalid format.']);
  t.regex(prompts.refused[1]!, /ENOENT.*missing\.key/);
  t.is(prompts.refused[2], 'notes.txt is not a private key.');
});

test('an empty answer keeps the stored value; a required field without a value is prompted for again', async (t) => {
  const at = await place(t);
  at.api.on('GET /api/v1/info', () => ({ body: { data: { debug: false } } }));
  const prompts = answering({ Mode: ['live'], 'App ID': ['', '2021'] });
  const first = await at.payctl(['channel', 'set', 'alipay', '--confirm', 'alipay'], { prompts });
  t.is(first.code, 0, first.stderr);
  t.deepEqual(prompts.refused, ['App ID is required in mode live.']);
  at.api.on('GET /api/v1/payment/config/alipay', () => ({ body: { data: { fields: { appId: '2021' } } } }));
  const kept = answering({ Mode: ['live'] });
  t.is((await at.payctl(['channel', 'set', 'alipay', '--confirm', 'alipay'], { prompts: kept })).code, 0);
  t.deepEqual(kept.refused, []);
  t.deepEqual(written(at), { mode: 'live' });
});

test('channel set offers only modes that the service accepts: no simulator in production, no live under Debug or in staging', async (t) => {
  const at = await place(t);
  for (const [debug, environment, modes] of [
    [true, 'development', ['simulator', 'sandbox']],
    [false, 'staging', ['simulator', 'sandbox']],
    [false, 'production', ['sandbox', 'live']],
  ] as const) {
    at.api.on('GET /api/v1/info', () => ({ body: { data: { debug, environment } } }));
    const prompts = answering({ Mode: ['sandbox'] });
    t.is((await at.payctl(['channel', 'set', 'alipay'], { prompts })).code, 0);
    t.deepEqual(prompts.modes, [...modes]);
  }
  t.is((await at.payctl(['channel', 'set', 'alipay'])).code, 2, 'no terminal to prompt on');
});

test('an error in a file names the file and the field before any request is sent', async (t) => {
  const at = await place(t);
  const faults: [name: string, content: string | Buffer, told: RegExp][] = [
    [
      'typo.toml',
      'mode = "sandbox"\nApp_ID = "2021"\n',
      /typo\.toml: unknown field "App_ID"\.[\s\S]*did you mean appId\?/,
    ],
    [
      'odd.toml',
      'whatever = 1\n',
      /odd\.toml: unknown field "whatever"\.[\s\S]*fields: mode, appId, clientId, key, app_key/,
    ],
    ['form.toml', 'appId = "abc"\n', /form\.toml: appId has an invalid format\.[\s\S]*Digits\./],
    [
      'mode.toml',
      'mode = "production"\n',
      /mode\.toml: mode is "production"\.[\s\S]*use one of simulator, sandbox, live/,
    ],
    ['gone.toml', 'key = { file = "gone.pem" }\n', /gone\.toml: key: gone\.pem cannot be read \(ENOENT\)/],
    ['list.toml', 'appId = ["2021"]\n', /list\.toml: appId must be a string, a number or \{ file = "…" \}/],
    [
      'broken.toml',
      'mode = "sandbox"\nkey = s3cret\n',
      /broken\.toml: Invalid TOML document: invalid value \(line 2\)$/m,
    ],
    ['broken.json', 'key = s3cret\n', /broken\.json: is not valid JSON$/m],
    ['wide.json', Buffer.from('\ufeff{ "key": "s3cret" }', 'utf16le'), /wide\.json is in UTF-16; payctl reads UTF-8\./],
  ];
  for (const [name, content, told] of faults) {
    await writeFile(join(at.folder, name), content);
    const { code, stderr } = await at.payctl(['channel', 'set', 'alipay', '-f', name]);
    t.is(code, 2, name);
    t.regex(stderr, told);
    t.notRegex(stderr, /s3cret/, 'a value may be a secret');
  }
  t.is(written(at), undefined);
  await writeFile(join(at.folder, 'good.json'), '\ufeff{ "appId": 2021, "key": null, "clientId": "***" }');
  t.is((await at.payctl(['channel', 'set', 'alipay', '-f', 'good.json'])).code, 0);
  t.deepEqual(written(at), { appId: 2021, key: null, clientId: '***' });
});

test('the next step is uploading a missing key, or the channel test when the configuration is complete', async (t) => {
  const at = await place(t);
  await writeFile(join(at.folder, 'alipay.toml'), 'mode = "sandbox"\nappId = "2021"\n');
  const set = async (missing: string[], ...more: string[]) => {
    at.api.on('POST /api/v1/payment/config/alipay', () => ({
      body: { data: { payWay: 'alipay', mode: 'sandbox', configured: missing.length === 0, missing } },
    }));
    return (await at.payctl(['channel', 'set', 'alipay', '-f', 'alipay.toml', ...more])).stderr;
  };
  t.regex(
    await set(['alipay_app_key', 'alipay_public_key']),
    /missing: alipay_app_key, alipay_public_key\. Next: payctl cert upload FILE --kind alipay_app_key$/m,
  );
  t.regex(await set(['appId']), /missing: appId\. Next: payctl channel set alipay$/m);
  t.regex(await set([], '--project', 'blue'), /^Configured alipay\. Next: payctl channel test alipay --project blue$/m);
});

test('a webhook that PayPal does not register is reported with a command for the same project', async (t) => {
  const at = await place(t);
  await writeFile(join(at.folder, 'paypal.toml'), 'mode = "sandbox"\nclientId = "A"\n');
  at.api.on('GET /api/v1/payment/config/paypal/schema', () => ({
    body: { data: { ...schema, registers: 'notifications' } },
  }));
  at.api.on('POST /api/v1/payment/config/paypal', () => ({
    body: { data: { payWay: 'paypal', mode: 'sandbox', configured: true, missing: [] } },
  }));
  at.api.on('POST /api/v1/payment/config/paypal/notices', () => ({
    body: { data: { ok: false, message: 'Refused.' } },
  }));
  const { code, stderr } = await at.payctl(['channel', 'set', 'paypal', '-f', 'paypal.toml', '--project', 'blue']);
  t.is(code, 1, stderr);
  t.regex(stderr, /payctl channel set paypal --project blue$/m);
});
