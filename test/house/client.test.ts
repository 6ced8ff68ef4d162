import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { pythonSource } from '../../server/offline/client-python.ts';
import { clientSource } from '../../server/offline/client-source.ts';
import { allRoutes } from '../support/routes.ts';
import { root } from './sources.ts';

test('the generated operations of both clients match the API document (else: npm run build)', async (t) => {
  const document = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' });
  const built = (path: string) => readFileSync(join(root, 'server/client', path), 'utf8');
  t.true(built('ts/operations.ts') === clientSource(document));
  t.true(built('python/unified_payment_client/operations.py') === pythonSource(document));
});

test('the clients know no event that only administrators can read', async (t) => {
  const document = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' });
  for (const source of [clientSource(document), pythonSource(document)]) {
    t.true(source.includes('order.paid'));
    t.false(source.includes('app.credentials_changed'));
  }
});

test('a member named like a word of Python does not break the Python client', (t) => {
  const words = ['False', 'None', 'and', 'async', 'await', 'else', 'for', 'from', 'not', 'or', 'return', 'yield'];
  for (const word of words) {
    const schemas = { Event: { properties: { [word]: { type: 'string' } } } };
    const empty = { paths: {}, webhooks: {}, 'x-tagGroups': [], components: { schemas, parameters: {} } };
    t.regex(pythonSource(empty), /^WebhookTestEvent = TypedDict\(/m, word);
  }
});
