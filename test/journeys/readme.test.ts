import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../../config/load.ts';
import { testSecrets } from '../../server/identity/api-app-rows.ts';
import { migratedFile } from '../support/database.ts';
import { isReady, openWithPayctl, runSamples } from './tour/samples.ts';
import { openStage, type Stage } from './tour/stage.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

interface Block {
  language: string;
  text: string;
}

/** The code blocks of a section, in their order. */
function blocksOf(section: string): Block[] {
  const start = readme.indexOf(`\n## ${section}\n`);
  const end = readme.indexOf('\n## ', start + 1);
  const text = readme.slice(start, end === -1 ? undefined : end);
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

test.serial('the ten-minute tutorial and pay per call work as described', async (t) => {
  // cli/service.test.ts covers the same bootstrap and start with an empty folder.
  const stage = await openWithPayctl(t, await migratedFile());
  const blocks = blocksOf('Ten-minute tutorial');
  const start = blocks.findIndex(({ text }) => text.includes('npm start'));
  t.is(start, 1);
  await checkSection(t, stage, blocks.slice(0, start));
  await stage.start();
  await isReady(stage);
  // This section needs only a running service from the tutorial.
  const pick = /^pick\(\).*$/m.exec(readme)?.[0] ?? '';
  await checkSection(t, stage, [{ language: 'sh', text: pick }, ...blocksOf('Pay per call')]);
  await checkSection(t, stage, blocks.slice(start + 1));
});

test('the README lists the test applications of the code', (t) => {
  for (const [id, secret] of Object.entries(testSecrets)) t.true(readme.includes(`| \`${id}\` | \`${secret}\` |`), id);
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
      value.replace('/etc/pay/', `${stage.folder}/`).replace('/run/secrets/', `${stage.folder}/`),
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
