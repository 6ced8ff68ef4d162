import { readFileSync } from 'node:fs';
import { helpText, type HelpPage, MOST_COLUMNS } from './help.ts';
import { createSink, type Streams } from './terminal.ts';

export interface HelpTree {
  page: HelpPage;
  below: Record<string, HelpTree>;
}

export interface HelpIndex {
  page: HelpPage;
  files: Record<string, string>;
}

/** The folder that the build creates. It does not exist next to the source files. */
const folder = new URL('help/', import.meta.url);

/** Prints help without loading the parser. Returns false unless the arguments are just a command and `--help`. */
export async function printPrebuiltHelp(
  argv: readonly string[],
  { stdout, env }: Pick<Streams, 'stdout' | 'env'>,
  from: URL = folder,
): Promise<boolean> {
  const page = findPage(argv.length === 0 ? [] : argv.slice(0, -1), from);
  if (!page) return false;
  const out = createSink(stdout, undefined, env);
  await out.write(helpText(page, out.style, Math.min(out.columns, MOST_COLUMNS)));
  return true;
}

function findPage([noun, ...verbs]: readonly string[], from: URL): HelpPage | undefined {
  const index = read<HelpIndex>('index', from);
  if (!index || noun === undefined) return index?.page;
  const file = Object.hasOwn(index.files, noun) ? index.files[noun] : undefined;
  let tree = file === undefined ? undefined : read<HelpTree>(file, from);
  for (const verb of verbs) tree = tree && Object.hasOwn(tree.below, verb) ? tree.below[verb] : undefined;
  return tree?.page;
}

function read<Content>(name: string, from: URL): Content | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`${name}.json`, from), 'utf8')) as Content;
  } catch {
    return undefined;
  }
}
