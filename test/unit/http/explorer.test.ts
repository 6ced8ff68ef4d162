import { registerHooks } from 'node:module';
import test from 'ava';
import { explorerFiles } from '../../../server/http/built-files.ts';
import { startEdge } from '../../support/edge.ts';

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});

test('the serving thread does not build the explorer files', async (t) => {
  const { url } = await startEdge(t, { groups: [], explorer: true });
  for (const name of Object.keys(explorerFiles)) {
    const answer = await fetch(`${url}/swagger/${name}`);
    t.is(answer.status, 200, name);
    t.true((await answer.bytes()).length > 300, name);
  }
  t.deepEqual(
    loaded.filter((place) => /swagger-jsdoc|koa2-swagger-ui|openapi|\/yaml\//.test(place)),
    [],
  );
});
