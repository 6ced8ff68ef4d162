import { Marked, type Token, type Tokens } from 'marked';
import { isErrorCode } from '../error-codes/error-codes.ts';
import { escapeHtml } from '../pages/html.ts';
import { guidePath } from '../pages/guides.ts';
import { inLanguage, type Language } from '../pages/language.ts';
import { languageChoice, sampleTabs, type Samples } from './guide-samples.ts';

/** A heading of a guide. */
export interface Heading {
  depth: number;
  text: string;
  /** The same in every language, so that a link leads to it whatever the reader's language is. */
  id: string;
}

/** What a guide is made of, beside its text. */
export interface GuideSource {
  language: Language;
  /** Of the English text, in order: the anchors of every other one. */
  ids: readonly string[];
  samples: Samples;
}

const CONTENTS: Readonly<Record<Language, string>> = { en: 'On this page', zh: '本页内容' };
/** Fewer headings need no list. */
const FEWEST_LISTED = 4;

/** The anchors of an English text: its headings as GitHub makes them. */
export function headingIds(markdown: string): string[] {
  const seen = new Map<string, number>();
  return headingsOf(markdown).map(({ text }) => {
    const plain = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const times = seen.get(plain) ?? 0;
    seen.set(plain, times + 1);
    return times === 0 ? plain : `${plain}-${times}`;
  });
}

/** The headings of a text. */
export function headingsOf(markdown: string): Omit<Heading, 'id'>[] {
  const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';
  return new Marked()
    .lexer(markdown)
    .filter(isHeading)
    .map(({ depth, text }) => ({ depth, text: text.replaceAll('`', '') }));
}

/** The HTML of a guide without its frame: text, list of headings, samples in the language that the reader chooses. */
export function guideHtml(markdown: string, source: GuideSource): string {
  const { language, ids, samples } = source;
  const headings: Heading[] = [];
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens, text }) {
        const id = ids[headings.length] ?? '';
        headings.push({ depth, text: text.replaceAll('`', ''), id });
        const words = this.parser.parseInline(tokens);
        return depth === 1
          ? `<h1>${words}</h1>\n<!-- after the heading -->\n`
          : `<h${depth} id="${id}">${words} <a class="anchor" href="#${id}" aria-label="#${id}">#</a></h${depth}>\n`;
      },
      code: ({ text, lang }) => codeBlock(text, lang ?? ''),
      codespan: ({ text }) =>
        isErrorCode(text)
          ? `<a class="code" href="${inLanguage(`/docs/errors/${text}`, language)}"><code>${text}</code></a>`
          : `<code>${wholeFlags(escapeHtml(text))}</code>`,
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        return `<a href="${escapeHtml(target(href, language))}"${/^https?:/.test(href) ? ' rel="noreferrer"' : ''}>${words}</a>`;
      },
      table(token) {
        const cells = (row: Tokens.TableCell[], name: 'td' | 'th') =>
          `<tr>${row.map(({ tokens }) => `<${name}>${this.parser.parseInline(tokens)}</${name}>`).join('')}</tr>`;
        const rows = token.rows.map((row) => cells(row, 'td')).join('\n');
        return `<div class="wide" tabindex="0"><table><thead>${cells(token.header, 'th')}</thead><tbody>\n${rows}\n</tbody></table></div>\n`;
      },
    },
  });
  const { text, hasSamples } = withSamples(markdown, samples);
  const html = withoutChineseBreaks(marked.parse(text, { async: false }));
  const top = (hasSamples ? languageChoice(language) : '') + contents(headings, language, 'toc-small');
  return `<div class="text">${html.replace('<!-- after the heading -->\n', () => top)}</div>${contents(headings, language, 'toc')}`;
}

/** `<!-- samples client token -->` and the line of links behind it, which is for readers of the repository. */
function withSamples(markdown: string, samples: Samples): { text: string; hasSamples: boolean } {
  let hasSamples = false;
  const text = markdown.replaceAll(
    /^<!-- samples (\w+)(?: (\w+))? -->\n(?:\[.*\n)?/gm,
    (_, name: string, part?: string) => {
      hasSamples = true;
      return `${sampleTabs(samples(name, part))}\n`;
    },
  );
  return { text, hasSamples };
}

/** A line break is a space, and between Chinese characters there is none. */
function withoutChineseBreaks(html: string): string {
  return html.replaceAll(
    /(?<=[\p{Script=Han}\u3000-\u303f\uff00-\uffef])\n(?=[\p{Script=Han}\u3000-\u303f\uff00-\uffef])/gu,
    '',
  );
}

/** A browser would break a line behind the hyphens of a flag. */
function wholeFlags(html: string): string {
  return html.replaceAll(/(?<![\w-])--?[a-z][\w-]*/gi, '<span class="flag">$&</span>');
}

/** A block of code that scrolls in itself. */
function codeBlock(text: string, language: string): string {
  return `<div class="sample"><pre tabindex="0"><code${language === '' ? '' : ` data-language="${language}"`}>${escapeHtml(text)}</code></pre></div>\n`;
}

function contents(headings: readonly Heading[], language: Language, look: 'toc' | 'toc-small'): string {
  const listed = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (listed.length < FEWEST_LISTED) return '';
  const items = listed.map(
    ({ id, text, depth }) => `<li class="at-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  const list = `<ul>${items.join('')}</ul>`;
  return look === 'toc'
    ? `<nav class="toc" aria-label="${CONTENTS[language]}"><p>${CONTENTS[language]}</p>${list}</nav>`
    : `<details class="toc-small"><summary>${CONTENTS[language]}</summary>${list}</details>`;
}

/** In the repository guides link to each other's files. */
function target(href: string, language: Language): string {
  const [, slug, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (slug !== undefined) return inLanguage(guidePath(slug) + anchor, language);
  return href.startsWith('/docs') ? inLanguage(href, language) : href;
}
