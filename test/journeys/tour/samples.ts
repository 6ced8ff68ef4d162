import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openStage, type Stage } from './stage.ts';

const root = join(import.meta.dirname, '../../..');

/** Makes `npx payctl` run the payctl of this checkout, without npm. */
function putPayctlOnPath({ folder, env }: Stage): void {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const npx = join(bin, 'npx');
  writeFileSync(npx, `#!/bin/sh\nshift\nexec '${process.execPath}' '${join(root, 'bin/payctl.ts')}' "$@"\n`);
  chmodSync(npx, 0o755);
  env['PATH'] = `${bin}:${env['PATH']}`;
}

const END = '--- end of block ---';

/** Runs samples one after the other in one shell; returns the output of each. */
export async function runSamples(t: ExecutionContext, stage: Stage, samples: readonly string[]): Promise<string[]> {
  const here = (text: string) =>
    text.replaceAll('http://127.0.0.1:8080', stage.url).replaceAll('http://127.0.0.1:8081', stage.simulatorUrl);
  const script = samples.map((sample) => `${here(sample)}\necho; echo '${END}'\n`).join('');
  const { code, stdout, stderr } = await stage.run('bash', ['-euo', 'pipefail', '-c', script]);
  t.is(code, 0, `${stdout}\n${stderr}`);
  return stdout.split(`${END}\n`);
}

/** Opens a stage where `npx payctl` runs the payctl of this checkout; a backup is restored into its database. */
export async function openWithPayctl(t: ExecutionContext, backup?: string): Promise<Stage> {
  const stage = await openStage('pay-readme-', {}, backup);
  t.teardown(() => stage.close());
  putPayctlOnPath(stage);
  return stage;
}

/** Waits until Debug's channels are stored after the start. */
export async function isReady({ url }: Stage): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/api/v1/payment/channels`);
    const { data } = (await answer.json()) as { data: { configured: boolean }[] };
    if (data.every(({ configured }) => configured)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
