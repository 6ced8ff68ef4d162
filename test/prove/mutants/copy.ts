import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mutant, placesOf, plantIn } from './mutant.ts';

/** The checkout that mutants are copied from; it is never changed. */
export const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));

/** Not needed to run tests, or shared. */
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', 'node_modules', 'dist', 'data', 'tmp', 'coverage']);

/** A copy of the checkout in a temporary folder. */
export interface Copy {
  readonly dir: string;
  /** Plants a mutant; the returned function removes it. */
  plant(mutant: Mutant): () => void;
  remove(): void;
}

/** Copies the checkout; its packages are shared. */
export function copyCheckout(): Copy {
  const dir = mkdtempSync(join(tmpdir(), 'pay-mutant-'));
  const isKept = (path: string) => !LEFT_OUT.has(basename(path)) || relative(CHECKOUT, path).includes('/');
  cpSync(CHECKOUT, dir, { recursive: true, filter: isKept });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(dir, 'node_modules'));
  return {
    dir,
    plant(mutant) {
      const planted = planting(mutant, dir);
      const originals = [...planted.keys()].map((file) => [file, readFileSync(join(dir, file), 'utf8')] as const);
      for (const [file, text] of planted) writeFileSync(join(dir, file), text);
      return () => {
        for (const [file, text] of originals) writeFileSync(join(dir, file), text);
      };
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Returns the files of a mutant with the fault planted; throws if a place is not found exactly once. */
export function planting(mutant: Mutant, dir = CHECKOUT): Map<string, string> {
  const files = new Map<string, string>();
  for (const place of placesOf(mutant)) {
    const { file } = place;
    files.set(file, plantIn(files.get(file) ?? readFileSync(join(dir, file), 'utf8'), place));
  }
  return files;
}
