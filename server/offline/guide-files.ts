// Converts the guides from Markdown to HTML, with lists of headings and code samples.
import { Marked, type Token, type Tokens } from 'marked';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrorCode } from '../error-codes/error-codes.ts';
import { escapeHtml } from '../pages/document.ts';
import { GUIDES, type Heading, contents, guidePath } from '../pages/guides.ts';
import { LANGUAGES, type Language, inLanguage } from '../pages/language.ts';

/** Renders every guide in every language, without menu and header. The keys are names such as `zh/webhooks.html`. */
export async function makeGuideFiles(source: string): Promise<Record<string, Uint8Array>> {
  const samples = samplesIn(join(source, 'samples'));
  const made: Record<string, Uint8Array> = {};
  for (const { slug } of GUIDES) {
    const read = (language: string) => readFile(join(source, language, `${slug}.md`), 'utf8');
    const ids = headingIds(await read('en'));
    for (const language of LANGUAGES)
      made[`${language}/${slug}.html`] = Buffer.from(guideHtml(await read(language), { language, ids, samples }));
  }
  return made;
}

/** Writes the guide files into a folder during a build. */
export async function writeGuideFiles(folder: string, source: string): Promise<void> {
  for (const language of LANGUAGES) await mkdir(join(folder, language), { recursive: true });
  for (const [name, bytes] of Object.entries(await makeGuideFiles(source))) await writeFile(join(folder, name), bytes);
}

interface GuideSource {
  language: Language;
  /** The anchors of the headings in the English text, in the sequence of the headings. All languages use them. */
  ids: readonly string[];
  samples: Samples;
}

/** Returns the anchors of the headings in an English text, in the form that GitHub uses. */
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

function headingsOf(markdown: string): Omit<Heading, 'id'>[] {
  const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';
  return new Marked()
    .lexer(markdown)
    .filter(isHeading)
    .map(({ depth, text }) => ({ depth, text: text.replaceAll('`', '') }));
}

function guideHtml(markdown: string, source: GuideSource): string {
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

/**
 * Replaces comments such as `<!-- samples client token -->` by code samples. Removes the links after the comments,
 * which are only for readers of the Markdown files.
 */
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

/** Removes line breaks between Chinese characters, because browsers would show them as spaces. */
function withoutChineseBreaks(html: string): string {
  return html.replaceAll(
    /(?<=[\p{Script=Han}\u3000-\u303f\uff00-\uffef])\n(?=[\p{Script=Han}\u3000-\u303f\uff00-\uffef])/gu,
    '',
  );
}

/** Marks command line flags in code, because a browser would otherwise break the line after their hyphens. */
function wholeFlags(html: string): string {
  return html.replaceAll(/(?<![\w-])--?[a-z][\w-]*/gi, '<span class="flag">$&</span>');
}

/** Returns the HTML of a code block that scrolls horizontally. */
function codeBlock(text: string, language: string): string {
  return `<div class="sample"><pre tabindex="0"><code${language === '' ? '' : ` data-language="${language}"`}>${escapeHtml(text)}</code></pre></div>\n`;
}

function target(href: string, language: Language): string {
  const [, slug, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (slug !== undefined) return inLanguage(guidePath(slug) + anchor, language);
  return href.startsWith('/docs') ? inLanguage(href, language) : href;
}

export const SAMPLE_LANGUAGES = {
  node: { ending: 'mjs', name: 'Node.js' },
  python: { ending: 'py', name: 'Python' },
  php: { ending: 'php', name: 'PHP' },
  java: { ending: 'java', name: 'Java' },
  go: { ending: 'go', name: 'Go' },
} as const;

export type SampleLanguage = keyof typeof SAMPLE_LANGUAGES;

/**
 * Returns a code sample in each programming language; `part`: only the lines between the comments `[part]` and
 * `[/part]`.
 */
type Samples = (name: string, part?: string) => Readonly<Record<SampleLanguage, string>>;

const ALL_SAMPLE_LANGUAGES = Object.keys(SAMPLE_LANGUAGES) as SampleLanguage[];
const CHOOSE: Readonly<Record<Language, string>> = { en: 'Samples in', zh: '示例语言' };

/** Returns the file name of a sample. Java file names start with a capital letter, like the class in them. */
export function sampleFile(name: string, language: SampleLanguage): string {
  const { ending } = SAMPLE_LANGUAGES[language];
  return language === 'java' ? `${name.charAt(0).toUpperCase()}${name.slice(1)}.${ending}` : `${name}.${ending}`;
}

function samplesIn(folder: string): Samples {
  return (name, part) => {
    const texts = ALL_SAMPLE_LANGUAGES.map((language) => {
      const file = sampleFile(name, language);
      return [language, partOf(readFileSync(join(folder, file), 'utf8'), file, part)];
    });
    return Object.fromEntries(texts) as Record<SampleLanguage, string>;
  };
}

function partOf(text: string, file: string, part: string | undefined): string {
  const lines = text.trimEnd().split('\n');
  if (part === undefined) return withoutMarks(lines).join('\n');
  const [first, last] = [`[${part}]`, `[/${part}]`].map((mark) => lines.findIndex((line) => markOf(line) === mark));
  if (first === undefined || last === undefined || first < 0 || last < first)
    throw new Error(`${file} has no part [${part}] … [/${part}].`);
  const inner = withoutMarks(lines.slice(first + 1, last));
  const indents = inner.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  return inner
    .map((line) => line.slice(Math.min(...indents)))
    .join('\n')
    .trim();
}

function markOf(line: string): string | undefined {
  return /^\s*(?:\/\/|#) (\[\/?\w+\])$/.exec(line)?.[1];
}

/**
 * Removes the marks (comments such as `[part]`). If an empty line precedes a mark, an empty line after it is removed
 * too.
 */
function withoutMarks(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let isBehindMark = false;
  for (const line of lines) {
    const isMark = markOf(line) !== undefined;
    if (!isMark && !(isBehindMark && line === '' && kept.at(-1) === '')) kept.push(line);
    isBehindMark = isMark;
  }
  return kept;
}

/** Returns the HTML of a code sample in all programming languages. CSS shows only the chosen language. */
function sampleTabs(texts: Readonly<Record<SampleLanguage, string>>): string {
  const labels = ALL_SAMPLE_LANGUAGES.map(
    (language) => `<label for="in-${language}" class="${language}">${SAMPLE_LANGUAGES[language].name}</label>`,
  );
  // Line breaks are escaped, because an empty line would end the HTML block in Markdown.
  const blocks = ALL_SAMPLE_LANGUAGES.map(
    (language) =>
      `<div class="sample ${language}"><pre tabindex="0"><code data-language="${language}">${escapeHtml(texts[language]).replaceAll('\n', '&#10;')}</code></pre></div>`,
  );
  return `<div class="samples"><div class="tabs">${labels.join('')}</div>${blocks.join('')}</div>\n`;
}

/** The choice of the programming language works without JavaScript, because CSS depends on the checked input. */
function languageChoice(language: Language): string {
  const choices = ALL_SAMPLE_LANGUAGES.map(
    (one, index) =>
      `<span><input type="radio" name="in" id="in-${one}"${index === 0 ? ' checked' : ''}><label for="in-${one}">${SAMPLE_LANGUAGES[one].name}</label></span>`,
  );
  return `<fieldset class="choice"><legend>${CHOOSE[language]}</legend>${choices.join('')}</fieldset>`;
}
