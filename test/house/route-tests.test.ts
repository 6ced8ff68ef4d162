import test from 'ava';
import { dispatch, joinGroups } from '../../server/http/router.ts';
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

test('the router of each start of a path has every route that the path matches', async (t) => {
  const router = joinGroups([...(await groupsByBuilder()).values()].flat());
  const serve = dispatch(router);
  const matchedBy = async (path: string) => {
    // No route has this method, so none runs.
    const ctx = { method: 'TRACE', path, host: 'pay.shop.example', matched: [] };
    await serve(ctx as never, async () => {});
    return ctx.matched;
  };
  const paths = router.stack.flatMap(({ path }) => {
    const one = String(path).replaceAll(/:\w+|[{}*]/g, 'x1');
    return [
      one,
      `${one}/`,
      `${one}/x1`,
      one.toUpperCase(),
      `/${one}`,
      one.replace(/\/[^/]*$/, ''),
      one.replace('a', '%61'),
    ];
  });
  for (const path of [...paths, '/', '', '*', '//', '/x1']) {
    t.deepEqual(await matchedBy(path), router.match(path, 'TRACE').path as never, path);
  }
  t.true((await matchedBy('/api/v2/payment/query/x1')).length > 0);
});
