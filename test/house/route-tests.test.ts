import test from 'ava';
import { joinGroups } from '../../server/http/router.ts';
import { groupsByBuilder } from '../../server/offline/route-groups.ts';
import { routesByTest } from '../support/routes.ts';
import { sourcesIn } from './sources.ts';

const folder = 'test/http/';
const files = sourcesIn('test/http').filter(({ path }) => !path.startsWith(`${folder}across/`));
const nameOf = (path: string) => path.slice(folder.length, -'.test.ts'.length);

test('each route builder has one test file per audience, and each test file has a route builder', async (t) => {
  const names = files.map(({ path }) => nameOf(path));
  t.deepEqual(names.toSorted(), [...(await routesByTest(names)).keys()].toSorted());
});

test('each route test file calls coverRoutes, which requires every operation and error to be tested', (t) => {
  const uncovered = files.filter(({ text }) => !/^coverRoutes\(test, /m.test(text));
  t.deepEqual(
    uncovered.map(({ path }) => path),
    [],
  );
});

test('no operation is served twice', async (t) => {
  const all = [...(await routesByTest([])).values()].flat().map(({ method, path }) => `${method} ${path}`);
  t.deepEqual([...new Set(all)].toSorted(), all.toSorted());
});

test('no route hides another: every other match of its path has more parameters', async (t) => {
  const router = joinGroups([...(await groupsByBuilder()).values()].flat());
  for (const layer of router.stack) {
    const { path, methods, paramNames } = layer;
    const sample = String(path).replaceAll(/:\w+/g, 'x1');
    const rivals = router
      .match(sample, methods.at(-1)!)
      .pathAndMethod.filter((other) => other !== layer && other.paramNames.length <= paramNames.length);
    t.deepEqual(
      rivals.map((other) => String(other.path)),
      [],
      `${methods.join(' ')} ${String(path)}`,
    );
  }
});
