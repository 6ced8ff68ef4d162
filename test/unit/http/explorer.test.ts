import { registerHooks } from 'node:module';
import test from 'ava';
import { startEdge } from '../../support/edge.ts';

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});

const FILES = [
  'doc.json',
  'index.html',
  'explorer.js',
  'explorer.css',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
];

test('a service makes nothing of its explorer in the thread that serves', async (t) => {
  const { url } = await startEdge(t, { groups: [], explorer: true });
  for (const name of FILES) {
    const answer = await fetch(`${url}/swagger/${name}`);
    t.is(answer.status, 200, name);
    t.true((await answer.bytes()).length > 300, name);
  }
  t.deepEqual(
    loaded.filter((place) => /swagger-jsdoc|koa2-swagger-ui|openapi|\/yaml\//.test(place)),
    [],
  );
});
