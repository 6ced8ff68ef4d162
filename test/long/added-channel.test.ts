import test from 'ava';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { addChannel } from '../journeys/added-channel/add.ts';
import { temporaryFolder } from '../support/folder.ts';

test('the sources compile with an added channel, so every list of channels includes it', (t) => {
  const folder = temporaryFolder(t);
  addChannel(folder);
  const compiler = join(folder, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(
    process.execPath,
    [compiler, '--noEmit', '--noCheck', 'false', '--project', 'tsconfig.build.json'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  t.is(status, 0, stdout);
});
