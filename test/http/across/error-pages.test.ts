import test from 'ava';
import { errorCodes } from '../../../server/error-codes/error-codes.ts';
import { guideRoutes } from '../../../server/routes/docs.ts';
import { startEdge } from '../../support/edge.ts';

const groups = [guideRoutes({ publicUrl: 'https://pay.example.com', explorer: false })];

test('every error code has its page', async (t) => {
  const { url } = await startEdge(t, { groups });
  for (const [code, { title }] of Object.entries(errorCodes)) {
    const response = await fetch(`${url}/docs/errors/${code}`);
    t.is(response.status, 200, code);
    t.is(response.headers.get('content-type'), 'text/html; charset=utf-8');
    const page = await response.text();
    t.true(page.includes(`<h1>${title}</h1>`) && page.includes(`<code>${code}</code>`), code);
  }
});

test('an unknown code and a code used only by payctl have no page', async (t) => {
  const { url } = await startEdge(t, { groups });
  for (const code of ['no_such_code', 'schema_outdated', 'constructor']) {
    const response = await fetch(`${url}/docs/errors/${code}`);
    t.is(response.status, 404, code);
    t.is(((await response.json()) as { code: string }).code, 'not_found');
  }
});
