import test from 'ava';
import { sourcesIn } from './sources.ts';

const generated = /^server\/db\/migrations\/|^test\/fixtures\/|^server\/client\/ts\/operations\.ts$/;
const sources = sourcesIn('server', 'cli', 'config', 'bin', 'test').filter(({ path }) => !generated.test(path));

test('no file is longer than 600 lines', (t) => {
  const long = sources.filter(({ lines }) => lines > 600).map(({ path, lines }) => `${path}: ${lines}`);
  t.deepEqual(long, []);
});
