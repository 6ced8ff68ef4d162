import test from 'ava';
import { sourcesIn } from './sources.ts';

const generated = /^server\/db\/migrations\/|^test\/fixtures\/|^server\/client\/operations\.ts$/;
const sources = sourcesIn('server', 'cli', 'config', 'bin', 'test').filter(({ path }) => !generated.test(path));

test('no file is longer than 400 lines', (t) => {
  const long = sources.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines}`);
  t.deepEqual(long, []);
});

test('half of the files that run have at most 80 lines', (t) => {
  const lengths = sources
    .filter(({ path }) => !path.startsWith('test/'))
    .map(({ lines }) => lines)
    .toSorted((a, b) => a - b);
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0;
  t.log(`${lengths.length} files, median ${median} lines`);
  t.true(median <= 80, String(median));
});

test('a route file has at most ten endpoints: more are two resources', (t) => {
  const counted = sources
    .filter(({ path }) => path.startsWith('server/routes/'))
    .map(({ path, text }) => ({ path, endpoints: text.split(/^ *endpoint\(/m).length - 1 }));
  t.true(counted.some(({ endpoints }) => endpoints > 5));
  t.deepEqual(
    counted.filter(({ endpoints }) => endpoints > 10),
    [],
  );
});
