import { Buffer } from 'node:buffer';
import test from 'ava';
import { commandPath } from '../../cli/program.ts';
import { examplesOf } from '../../cli/options.ts';
import { FORMATS } from '../../cli/output.ts';
import { makePlace, collector } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { leaves, program, runExample } from './examples.ts';
import { ATTACK, drawnByOthers, hostile } from './hostile.ts';
import { createTerminal, type Sink } from '../../cli/terminal.ts';

/** Stdout of a terminal of this width or of a pipe, with the written text. */
function sinkOf(columns?: number): { sink: Sink; text: () => string } {
  const out = collector(columns);
  const streams = { stdin: process.stdin, stdout: out.stream, stderr: collector().stream, env: {}, cwd: '/' };
  return { sink: createTerminal(streams).out, text: out.text };
}

/** Commands that print no text from the service. */
const NOTHING_OF_OTHERS =
  / delete$| session end$|^payctl (api$|bootstrap|completion|config|context|help|keys|logout|server|simulator start|version|open)/;

/** Examples with a fixed format, and `payctl top`, which in a line format runs until it is stopped. */
const ASKS_FOR_FORMAT = /(-o|--json|--content) ?|^payctl top$/;

for (const command of leaves(program)) {
  const path = commandPath(command);
  test(`the output contains no control characters of the service on a terminal: ${path}`, async (t) => {
    let printed = 0;
    const lines = examplesOf(command);
    const open = lines.filter((line) => !ASKS_FOR_FORMAT.test(line));
    for (const line of lines) {
      // Runs each example unchanged, and distributes the formats over the examples.
      const formats = FORMATS.filter((_, at) => open[at % open.length] === line);
      for (const format of [undefined, ...formats]) {
        const more = ['--color', 'never', '--debug', ...(format ? ['-o', format] : [])];
        const run = await runExample(t, line.replace(/ [|>].*/, ''), more, {
          terminal: 200,
          prepare: ({ api }) => api.changeAll(hostile),
        });
        const shown = run.stdout + run.stderr;
        t.is(drawnByOthers(shown), undefined, `${line} ${more.join(' ')}`);
        if (shown.includes('owned')) printed += 1;
      }
    }
    if (!NOTHING_OF_OTHERS.test(path)) t.true(printed > 0, 'the attack reached the screen');
  });
}

const RAW: [name: string, argv: string[], route: string][] = [
  ['order export', ['order', 'export'], 'GET /api/v1/orders/export'],
  ['api with a body that is not JSON', ['api', '/api/v1/orders/export'], 'GET /api/v1/orders/export'],
  [
    'cert download',
    ['cert', 'download', '01935b2e-7c41-7a90-9d3f-5f0c2b6e8a17'],
    'POST /api/v1/certs/01935b2e-7c41-7a90-9d3f-5f0c2b6e8a17/download',
  ],
];

for (const [name, argv, route] of RAW) {
  test(`raw bytes stay unchanged in a pipe and are escaped on a terminal: ${name}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const text = `no,subject\r\n1,"${ATTACK}红茶"\r\n`;
    const answer = { headers: { 'content-type': 'text/csv; charset=utf-8' }, text };
    place.api.on(route, () => answer);
    t.is((await place.payctl(argv)).stdout, text);
    const { stdout } = await place.payctl([...argv, '--color', 'never'], { terminal: 80 });
    t.is(drawnByOthers(stdout), undefined);
    t.true(stdout.includes('owned\\u001b]0;title\\u0007\\u009b31m\\u202egnp.exe\\u2066\\u007f\\u0000\\u000dpaid红茶"'));
  });
}

for (const format of FORMATS) {
  test(`only a table escapes data in a pipe: -o ${format}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const orderNo = 'P1\u009B31m\u202E';
    place.api.on('GET /api/v1/orders', () => ({ body: { data: [{ orderNo }], page: { nextCursor: null } } }));
    const { stdout } = await place.payctl(['order', 'list', '-o', format === 'env' ? 'name' : format]);
    t.is(stdout.includes(orderNo), format !== 'table');
  });
}

test('JSON on a terminal parses to the same value', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const body = { subject: ATTACK };
  place.api.on('GET /api/v1/orders/P1', () => ({ body }));
  const { stdout } = await place.payctl(['api', '/api/v1/orders/P1'], { terminal: 80 });
  t.is(drawnByOthers(stdout), undefined);
  t.deepEqual(JSON.parse(stdout), body);
});

test('an error of the service is escaped on a terminal, as text and as JSON', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const answer = () =>
    problem(422, `bad${ATTACK}`, `Refused ${ATTACK}`, { errors: [{ pointer: ATTACK, detail: ATTACK }] });
  place.api.on('GET /api/v1/orders', answer);
  for (const more of [[], ['--json'], ['--debug']]) {
    const { stderr } = await place.payctl(['order', 'list', '--color', 'never', ...more], { terminal: 80 });
    t.regex(stderr, /owned/);
    t.is(drawnByOthers(stderr), undefined);
  }
});

test('a colour sequence in the data is escaped', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const row = { orderNo: 'P1', status: 'paid', subject: '\u001B[32mpaid\u001B[39m' };
  place.api.on('GET /api/v1/orders', () => ({ body: { data: [row], page: { nextCursor: null } } }));
  const { stdout } = await place.payctl(['order', 'list'], { terminal: 200 });
  t.is(stdout.split('\u001B[32mpaid').length, 2, 'the status is green, the subject is not');
  t.true(stdout.includes('\\u001b[32mpaid\\u001b[39m'));
  const piped = await place.payctl(['order', 'list', '--color', 'always', '-o', 'table']);
  t.true(piped.stdout.includes('\u001B[32mpaid'), '--color always writes colours in a pipe');
});

test('a character that is written in parts is complete on a terminal', async (t) => {
  const { sink, text } = sinkOf(80);
  const bytes = Buffer.from('红\u009B茶');
  for (const byte of bytes) await sink.write(Uint8Array.of(byte));
  t.is(text(), '红\\u009b茶');
});
