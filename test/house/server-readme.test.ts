import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { EXCEPTION_KINDS } from '../../server/domain.ts';
import { DISPUTE_TRANSITIONS, ORDER_TRANSITIONS, REFUND_TRANSITIONS } from '../../server/payments/core/transitions.ts';
import { root } from './sources.ts';

const server = join(root, 'server');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readme = read('server/README.md');
const payments = read('server/payments/README.md');

/** The transitions of a rule in the README table, written as `a, b → c; d → e`. */
function transitionsOf(rule: string): string[] {
  const cell = new RegExp(`^\\| \`${rule}\` +\\| ([^|]+?) +\\|`, 'm').exec(readme)?.[1] ?? '';
  if (cell === 'stays') return [];
  return cell.split('; ').flatMap((part) => {
    const [from = '', to = ''] = part.split(' → ');
    return from.split(', ').flatMap((one) => to.split(', ').map((other) => `${one} → ${other}`));
  });
}

function transitionsInCode(rule: string): string[] {
  return [...ORDER_TRANSITIONS, ...REFUND_TRANSITIONS, ...DISPUTE_TRANSITIONS]
    .filter((transition) => transition.rule === rule)
    .map(({ from, to }) => `${from ?? '–'} → ${to}`);
}

test('the state tables list the transitions of the code', (t) => {
  const listed = [...readme.matchAll(/^\| `(\w+)` \| ([^|]+?) \|/gm)]
    .filter(([, , cell]) => /^stays$| → /.test(cell!))
    .map(([, rule]) => rule!);
  const written = new Set(
    [...ORDER_TRANSITIONS, ...REFUND_TRANSITIONS, ...DISPUTE_TRANSITIONS].map(({ rule }) => rule),
  );
  t.deepEqual(
    [...written].filter((rule) => !listed.includes(rule)),
    [],
  );
  for (const rule of listed) t.deepEqual(transitionsOf(rule).toSorted(), transitionsInCode(rule).toSorted(), rule);
  for (const rule of ['capture_once', 'capture_unknown', 'capture_review', 'capture_close'])
    t.regex(payments, new RegExp(`^\\| \`${rule}\` `, 'm'), rule);
});

test('every exception kind has a row with the payctl command that resolves it', (t) => {
  const rows = payments.slice(payments.indexOf('## Exceptions')).split('\n');
  for (const kind of EXCEPTION_KINDS) {
    const row = rows.find((line) => line.split('|')[1]?.includes(`\`${kind}\``));
    t.regex(row?.split('|')[3] ?? '', /payctl (order|refund|exception|dispute) /, kind);
  }
});

test('every folder of the service is in the folder table', (t) => {
  const folders = readdirSync(server, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const map = readme.slice(readme.indexOf('## Folders'), readme.indexOf('## How a payment runs'));
  t.deepEqual(
    folders.map(({ name }) => name).filter((name) => !map.includes(`\`${name}/\``)),
    [],
  );
});

test('every file that the documents name exists', (t) => {
  const everywhere = new Set(globSync('server/**/*.ts', { cwd: root }).map((path) => path.split('/').at(-1)));
  for (const document of [
    'server/README.md',
    'server/DECISIONS.md',
    'server/http/README.md',
    'server/identity/README.md',
    'server/payments/README.md',
  ]) {
    const named = [...read(document).matchAll(/`((?:[\w-]+\/)*[\w.-]+\.ts)`/g)].map(([, path]) => path ?? '');
    t.true(named.length > 5, document);
    const places = [root, server, join(root, dirname(document))];
    const lost = named.filter(
      (path) => !places.some((place) => existsSync(join(place, path))) && (path.includes('/') || !everywhere.has(path)),
    );
    t.deepEqual(lost, [], document);
  }
});

test('a decision has a date and at most 100 words', (t) => {
  const decisions = read('server/DECISIONS.md')
    .split(/\n- (?=\*\*)/)
    .slice(1);
  t.true(decisions.length >= 8);
  for (const decision of decisions) {
    t.regex(decision, /^\*\*.+?\*\* \(\d{4}-\d\d-\d\d\)/);
    t.true(decision.split('\n\n## ')[0]!.split(/\s+/).length <= 100, decision);
  }
});
