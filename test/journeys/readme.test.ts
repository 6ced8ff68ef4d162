import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../config/load.ts';
import { testSecrets } from '../../server/identity/api-app-rows.ts';
import { migratedFile } from '../support/database.ts';
import { isReady, openWithPayctl, runSamples } from './tour/samples.ts';
import { openStage, type Stage } from './tour/stage.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');
const chinese = read('README.zh.md');

interface Block {
  language: string;
  text: string;
}

/** The code blocks of a section, in their order. */
function blocksOf(section: string): Block[] {
  const start = readme.indexOf(`\n## ${section}\n`);
  const end = readme.indexOf('\n## ', start + 1);
  return blocksIn(readme.slice(start, end === -1 ? undefined : end));
}

function blocksIn(text: string): Block[] {
  return [...text.matchAll(/```(\w+)\n([^]*?)```/g)].map(([, language = '', body = '']) => ({ language, text: body }));
}

/** Whether an answer has every member of the sample with the same type; short plain words must be equal. */
function hasShape(sample: unknown, answer: unknown): boolean {
  if (typeof sample === 'object' && sample !== null) {
    const found = (answer ?? {}) as Record<string, unknown>;
    return Object.entries(sample).every(([name, value]) => hasShape(value, found[name]));
  }
  if (typeof sample === 'string' && /^[a-z_ ]+$/i.test(sample)) return sample === answer;
  if (typeof sample === 'string') return typeof answer === 'string';
  return sample === answer;
}

/** Runs the samples of a section; a `json` block is the last output expected from the sample before it. */
async function checkSection(t: ExecutionContext, stage: Stage, blocks: readonly Block[]): Promise<void> {
  const samples = blocks.filter(({ language }) => language === 'sh');
  const outputs = await runSamples(
    t,
    stage,
    samples.map(({ text }) => text),
  );
  blocks.forEach(({ language, text }, index) => {
    if (language !== 'json') return;
    const output = outputs[samples.indexOf(blocks[index - 1]!)] ?? '';
    const last = output.trim().split('\n').at(-1) ?? '';
    t.true(hasShape(JSON.parse(text), JSON.parse(last.slice(last.indexOf('{')))), `${text}\n${output}`);
  });
}

test.serial('the first payment works as described', async (t) => {
  const stage = await openWithPayctl(t, await migratedFile());
  await stage.start();
  await isReady(stage);
  await checkSection(t, stage, blocksOf('First payment'));
});

test('the README is short, and the Chinese one has the same sections, samples and links', (t) => {
  t.true(readme.split(/\s+/).filter(Boolean).length <= 1300);
  t.deepEqual(blocksIn(chinese), blocksIn(readme));
  const headings = (text: string) => [...text.matchAll(/^## /gm)].length;
  t.is(headings(chinese), headings(readme));
  const links = (text: string) =>
    [...text.matchAll(/\]\(([^)#]+)/g)].map(([, path = '']) => path.replace('/guides/zh/', '/guides/en/'));
  t.deepEqual(
    links(chinese).filter((path) => path !== 'README.md'),
    links(readme).filter((path) => path !== 'README.zh.md'),
  );
  for (const path of [...links(readme), ...links(chinese)]) t.true(existsSync(join(root, path)), path);
});

test('the guides list the test applications of the code', (t) => {
  for (const guide of [read('server/pages/guides/en/simulator.md'), read('server/pages/guides/zh/simulator.md')]) {
    for (const [id, secret] of Object.entries(testSecrets)) t.true(guide.includes(`| \`${id}\` | \`${secret}\` |`), id);
  }
});

test('every npm script in the README exists', (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const named = [...readme.matchAll(/\bnpm run ([\w:]+)/g)].map(([, name]) => name ?? '');
  t.true(named.length > 3);
  t.deepEqual(
    named.filter((name) => !Object.hasOwn(scripts, name)),
    [],
  );
});

test('the production sample is a valid production configuration', async (t) => {
  const stage = await openStage('pay-readme-');
  t.teardown(() => stage.close());
  const [toml, shell] = blocksOf('Production');
  const file = join(stage.folder, 'pay.toml');
  writeFileSync(file, toml?.text ?? '');
  for (const name of ['jwt', 'master']) writeFileSync(join(stage.folder, name), randomBytes(32).toString('base64'));
  const assigned = [...(shell?.text ?? '').matchAll(/\b((?:PAY|NODE)_\w+)=(\S+)/g)];
  const env = Object.fromEntries(
    assigned.map(([, name = '', value = '']) => [
      name,
      value.replace(/^\/etc\/pay\/(?:secrets\/)?/, `${stage.folder}/`),
    ]),
  );
  t.is(Object.keys(env).length, 4);
  const config = loadConfig({ env, cwd: stage.folder });
  t.is(config.server.publicUrl, 'https://pay.shop.example');
  t.is(config.database.kind, 'postgres');
});

test('every folder in the README exists', (t) => {
  const named = blocksOfMap();
  t.deepEqual(named.toSorted(), ['bin', 'cli', 'config', 'server', 'test']);
});

function blocksOfMap(): string[] {
  const map = readme.slice(readme.indexOf('## Repository layout'));
  return [...map.matchAll(/^\| `(\w+)\/` \|/gm)].map(([, name]) => name ?? '');
}
