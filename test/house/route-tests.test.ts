import test from 'ava';
import { routesByFile } from '../support/routes.ts';
import { sourcesIn } from './sources.ts';

const folder = 'test/http/';
const files = sourcesIn('test/http').filter(({ path }) => !path.startsWith(`${folder}across/`));
const nameOf = (path: string) => path.slice(folder.length, -'.test.ts'.length);

test('each file of routes that serves something has one test file of its name, and no test file is without one', async (t) => {
  const routes = [...(await routesByFile()).keys()];
  t.deepEqual(files.map(({ path }) => nameOf(path)).toSorted(), routes.toSorted());
});

test('each of these test files sees to it that every operation and refusal of its route file is asked for', (t) => {
  const careless = files.filter(({ text }) => !/^coverRoutes\(test, /m.test(text));
  t.deepEqual(
    careless.map(({ path }) => path),
    [],
  );
});

test('no operation is served twice by two route files', async (t) => {
  const all = [...(await routesByFile()).values()].flat().map(({ method, path }) => `${method} ${path}`);
  t.deepEqual([...new Set(all)].toSorted(), all.toSorted());
});
