import test from 'ava';
import { commandPath } from '../../cli/program.ts';
import { examplesOf } from '../../cli/options.ts';
import { leaves, program, runExample } from './examples.ts';

for (const command of leaves(program)) {
  test(`examples of: ${commandPath(command)}`, async (t) => {
    const lines = examplesOf(command);
    t.true(lines.length >= 2 && lines.length <= 4, 'two to four examples');
    for (const line of lines) {
      const { code, stderr } = await runExample(t, line);
      t.is(code, 0, `${line}\n${stderr}`);
    }
  });
}

/** Commands that write raw content (files, PEM, scripts, stream lines) or run until they are stopped. */
const RAW =
  /^payctl (completion|help|order export|bill export|audit-log export|cert download|event listen|top|mcp|server start|simulator start)\b/;

for (const command of leaves(program)) {
  const path = commandPath(command);
  if (RAW.test(path)) continue;
  test(`-o json prints one JSON document: ${path}`, async (t) => {
    const line = examplesOf(command).find((one) => !/ (-o|--json|--content|-q|>)/.test(one)) ?? '';
    const { code, stdout, stderr } = await runExample(t, line, ['-o', 'json']);
    t.is(code, 0, `${line}\n${stderr}`);
    t.notThrows(() => JSON.parse(stdout), `${line}\n${stdout}`);
  });
}
