import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { clientSource } from '../../server/offline/client-source.ts';
import { allRoutes } from '../support/routes.ts';
import { root } from './sources.ts';

test('server/client/operations.ts matches the API document (else: npm run build)', async (t) => {
  const made = clientSource(mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' }));
  t.true(readFileSync(join(root, 'server/client/operations.ts'), 'utf8') === made);
});
