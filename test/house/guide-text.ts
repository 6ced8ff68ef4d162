import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import type { Language } from '../../server/pages/language.ts';

/** The folder with the Markdown of the guides. */
export const guides = join(import.meta.dirname, '../../server/pages/guides');

/** A parsed guide. */
interface GuideText {
  markdown: string;
  headings: { depth: number; text: string }[];
  /** Code blocks with their languages. */
  blocks: { language: string; text: string }[];
  /** Inline code. */
  spans: string[];
  links: string[];
  /** The size of each table as `rows × columns`. */
  tables: string[];
  /** `client token` for `<!-- samples client token -->`. */
  samples: string[];
}

/** Reads and parses a guide in a language. */
export function guideText(slug: string, language: Language): GuideText {
  const markdown = readFileSync(join(guides, language, `${slug}.md`), 'utf8');
  const guide: GuideText = {
    markdown,
    headings: [],
    blocks: [],
    spans: [],
    links: [],
    tables: [],
    samples: [...markdown.matchAll(/^<!-- samples (.+) -->$/gm)].map(([, name = '']) => name),
  };
  const marked = new Marked();
  marked.walkTokens(marked.lexer(markdown), (token) => void take(token, guide));
  return guide;
}

function take(token: Token, guide: GuideText): void {
  if (is(token, 'heading')) guide.headings.push({ depth: token.depth, text: token.text });
  else if (is(token, 'code')) guide.blocks.push({ language: token.lang ?? '', text: token.text });
  else if (is(token, 'codespan')) guide.spans.push(token.text);
  else if (is(token, 'link')) guide.links.push(token.href);
  else if (is(token, 'table')) guide.tables.push(`${token.rows.length} × ${token.header.length}`);
}

interface Kinds {
  heading: Tokens.Heading;
  code: Tokens.Code;
  codespan: Tokens.Codespan;
  link: Tokens.Link;
  table: Tokens.Table;
}

function is<Kind extends keyof Kinds>(token: Token, kind: Kind): token is Kinds[Kind] {
  return token.type === kind;
}

/** Every payctl command line in code blocks and inline code; continued lines are joined. */
export function payctlLines({ blocks, spans }: GuideText): string[] {
  const texts = [...blocks.map(({ text }) => text.replaceAll(/\\\n\s*/g, '')), ...spans];
  return texts
    .flatMap((text) => text.split('\n'))
    .flatMap((line) => /(?:^|[\s(])(?:npx )?(payctl [^|;)]*)/.exec(line)?.[1] ?? [])
    .map((line) => line.trim());
}
