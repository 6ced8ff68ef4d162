import test from 'ava';
import { FIELDS, NUANCES, VALUES } from '../../cli/chinese.ts';
import { TEXTS } from '../../cli/chinese-texts.ts';
import { ENGLISH, joined, say, textIn } from '../../cli/language.ts';
import { EXCEPTION_KINDS, PAY_WAYS } from '../../server/domain.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { allRoutes } from '../support/routes.ts';
import { sourcesIn } from './sources.ts';

const cli = sourcesIn('cli');
/** The code of payctl without comments. */
const code = cli.map(({ text }) => text.replaceAll(/^\s*\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')).join('\n');

/** The text of a template literal that begins at `at`, with `{0}` for its first value, and where it ends. */
function templateAt(text: string, at: number): { template: string; end: number } {
  let template = '';
  let values = 0;
  for (let index = at; index < text.length; index += 1) {
    const rest = text.slice(index, index + 2);
    if (rest[0] === '`') return { template, end: index };
    if (rest === '${') {
      template += `{${values++}}`;
      index = valueEnd(text, index + 2);
    } else if (rest[0] === '\\') {
      index += 1;
      template += rest[1];
    } else template += rest[0];
  }
  throw new Error('A template does not end.');
}

/** The position of the brace that ends the value of a template. */
function valueEnd(text: string, at: number): number {
  let depth = 1;
  for (let index = at; index < text.length; index += 1) {
    const letter = text[index] ?? '';
    if (letter === '{') depth += 1;
    else if (letter === '}') depth -= 1;
    else if (letter === '`') index = templateAt(text, index + 1).end;
    else if (letter === "'") index = text.indexOf("'", index + 1);
    if (depth === 0) return index;
  }
  throw new Error('A value does not end.');
}

function templatesIn(text: string): string[] {
  return [...text.matchAll(/\bsay`/g)].map(({ index }) => templateAt(text, index + 4).template);
}

function named(pattern: RegExp, text = code): string[] {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].toSorted();
}

test('the reader of templates finds values, nested templates and quotes', (t) => {
  const source = "f(say`a ${b} c`, say`${x({ y: 1 })} (${z ?? say`none ${'}'}`})`);";
  t.deepEqual(templatesIn(source), ['a {0} c', '{0} ({1})', 'none {0}']);
});

test('every text of payctl has a Chinese one, and no Chinese one is left over', (t) => {
  const separators = sorted([', ', ...named(/\bjoined\([^;]*?, '([^']+)'\)/g)]).filter((one) => /[,;:]/.test(one));
  const needed = new Set([...templatesIn(code), ...separators]);
  t.true(needed.size > 200);
  t.deepEqual(
    [...needed].filter((text) => !Object.hasOwn(TEXTS, text)),
    [],
    'no Chinese text',
  );
  t.deepEqual(
    Object.keys(TEXTS).filter((text) => !needed.has(text)),
    [],
    'left over',
  );
});

test('a Chinese text has the same values as the English one, and ends in the same way', (t) => {
  const values = (text: string) => sorted(named(/\{(\d+)\}/g, text));
  for (const [english, chinese] of Object.entries(TEXTS)) {
    t.deepEqual(values(chinese), values(english), english);
    t.is(/[。：]$/.test(chinese), /[.:] ?$/.test(english), english);
    t.notRegex(chinese, /[,;:!?](?=\s|$)/, 'punctuation is Chinese');
  }
});

test('a Chinese text keeps the commands and settings of the English one', (t) => {
  const kept = (text: string) =>
    sorted(text.match(/payctl [a-z-]+( [a-z-]+)?|--[a-z][a-z-]+|\b[A-Z]\w+\.[A-Z]\w+/g) ?? []);
  for (const [english, chinese] of Object.entries(TEXTS)) t.deepEqual(kept(chinese), kept(english), english);
});

const VIEWS = ['bill', 'bill-fetch', 'dispute', 'exception'];
const views = cli.filter(({ path }) => VIEWS.some((name) => path === `cli/commands/${name}.ts`));
const shared = cli.find(({ path }) => path === 'cli/commands/views.ts')!.text;
const ofViews = [
  ...views.map(({ text }) => text),
  /export const APPROVAL_VIEW[^]*?^};/m.exec(shared)![0],
  /export const KIND\b.*/.exec(shared)![0],
].join('\n');

/** Fields of a row that `payctl bill get` computes or draws as a table. */
const COMPUTED = ['balance', 'ours', 'theirs'];
const AS_TABLES = ['totals', 'sums', 'differences'];

test('every column and every field of the translated commands has a Chinese name, and no name is left over', async (t) => {
  const routes = (await allRoutes()).filter(({ contract }) => !contract.hidden);
  const words = (await readWords()) as Record<string, Record<string, Record<string, unknown>>>;
  const { components } = mergeDocument(routes, words, { version: '0.0.0' }) as unknown as {
    components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
  };
  const ofRows = ['Bill', 'Dispute', 'OrderException', 'Approval'].flatMap((name) => {
    const fields = Object.keys(components.schemas[name]?.properties ?? {});
    t.true(fields.length > 5, name);
    return fields;
  });
  const columns = named(/\bfield: '([\w.]+)'/g, ofViews);
  t.true(columns.length > 50);
  const needed = [...columns, ...ofRows, ...COMPUTED].filter((field) => !AS_TABLES.includes(field));
  const titles = named(/\btitle: '([A-Z ]+)'/g, ofViews);
  const known = Object.keys(FIELDS).filter((name) => !titles.includes(name));
  t.deepEqual(sorted(known), sorted(needed));
});

test('every group of words is used', (t) => {
  const used = named(/\b(?:words: |coded\(|word\()'(\w+)'/g);
  t.deepEqual(sorted([...used, 'orderState', 'refundState']), sorted(Object.keys(VALUES)));
});

test('every kind of exception has its own Chinese name, which says on which side the money is missing', (t) => {
  const names = EXCEPTION_KINDS.map((kind) => VALUES.kind[kind]);
  t.is(new Set(names).size, EXCEPTION_KINDS.length);
  for (const [name, word] of Object.entries(NUANCES)) {
    const [kind = '', nuance = ''] = name.split('.');
    t.true(Object.hasOwn(VALUES.kind, kind), name);
    t.true(word.endsWith(nuance === 'surplus' ? '（长款）' : '（短款）'), name);
  }
});

test('every check of doctor and every label of explain has a Chinese name', (t) => {
  const doctor = cli.filter(({ path }) => path.startsWith('cli/commands/doctor/')).map(({ text }) => text);
  const checks = named(/\b(?:ok|failed|degraded|make|unreadable)\(\s*'([a-z ]+)'/g, doctor.join('\n'));
  t.deepEqual(sorted(Object.keys(VALUES.check)), sorted([...checks, ...PAY_WAYS]));
  const explain = cli.find(({ path }) => path === 'cli/commands/explain/sections.ts')!.text;
  const labels = named(/\blabel: '(\w+)'/g, explain).filter((label) => !['order', 'step', 'exception'].includes(label));
  t.deepEqual(sorted(Object.keys(VALUES.line)), sorted([...labels, 'open']));
});

test('the causes of a step are those of the service', (t) => {
  const service = sourcesIn('server/payments', 'server/skillpay')
    .map(({ text }) => text)
    .join('\n');
  const causes = new Set(named(/\bcause: '([a-z_]+)'/g, service));
  for (const cause of Object.keys(VALUES.cause)) t.true(causes.has(cause), cause);
});

test('English output is the template itself', (t) => {
  t.is(textIn(joined([say`No ${'bill'} found.`, 'x'], ': '), ENGLISH), 'No bill found.: x');
});
