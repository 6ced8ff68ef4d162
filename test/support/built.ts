import { execFileSync } from 'node:child_process';
import { copyFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptFolder } from './kept.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with what a build needs beside the sources, and the `dist` that was built there: the compiler takes ten seconds of a processor. */
export function builtFolder(): Promise<string> {
  return keptFolder('built', async (folder) => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(root, 'bin/build.mjs'), join(folder, 'dist')]);
  });
}
