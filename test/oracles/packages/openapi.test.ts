import test from 'ava';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mergeDocument, readWords } from '../../../server/http/openapi/document.ts';
import { allRoutes } from '../../support/routes.ts';

const rules = `
extends: [recommended]
rules:
  no-invalid-media-type-examples: { severity: error, allowAdditionalProperties: false }
  no-invalid-parameter-examples: error
  no-invalid-schema-examples: error
`;

test('redocly lint finds no error', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const document = mergeDocument(await allRoutes(), await readWords(), { version: '0.0.0' });
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  await writeFile(join(folder, 'redocly.yaml'), rules);
  const redocly = join(import.meta.dirname, '../node_modules/@redocly/cli/bin/cli.js');
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const lint = promisify(execFile)(process.execPath, [redocly, 'lint', file, '--format', 'json'], { cwd: folder, env });
  const { stdout } = await lint.catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as {
    totals: { errors: number };
    problems: { severity: string; message: string }[];
  };
  t.deepEqual(
    report.problems.filter(({ severity }) => severity === 'error').map(({ message }) => message),
    [],
  );
});
