import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeHtml } from '../pages/html.ts';
import type { Language } from '../pages/language.ts';

/** The languages of samples: how a file of each ends, and what it is called. */
export const SAMPLE_LANGUAGES = {
  node: { ending: 'mjs', name: 'Node.js' },
  python: { ending: 'py', name: 'Python' },
  php: { ending: 'php', name: 'PHP' },
  java: { ending: 'java', name: 'Java' },
  go: { ending: 'go', name: 'Go' },
} as const;

/** One of them. */
export type SampleLanguage = keyof typeof SAMPLE_LANGUAGES;

/** Finds the text of a sample in every language; `part` is what stands between its marks in the file. */
export type Samples = (name: string, part?: string) => Readonly<Record<SampleLanguage, string>>;

const LANGUAGES = Object.keys(SAMPLE_LANGUAGES) as SampleLanguage[];
const CHOOSE: Readonly<Record<Language, string>> = { en: 'Samples in', zh: '示例语言' };

/** A file of samples; Java wants a name in capitals, as its class has. */
export function sampleFile(name: string, language: SampleLanguage): string {
  const { ending } = SAMPLE_LANGUAGES[language];
  return language === 'java' ? `${name.charAt(0).toUpperCase()}${name.slice(1)}.${ending}` : `${name}.${ending}`;
}

/** Reads samples from a folder. Throws when a part is not in a file. */
export function samplesIn(folder: string): Samples {
  return (name, part) => {
    const texts = LANGUAGES.map((language) => {
      const file = sampleFile(name, language);
      return [language, partOf(readFileSync(join(folder, file), 'utf8'), file, part)];
    });
    return Object.fromEntries(texts) as Record<SampleLanguage, string>;
  };
}

/** Lines between `[part]` and `[/part]` in comments, as far to the left as they go; without a part the whole file. */
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

/** The empty line behind a mark goes with it when there is one before it, too. */
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

/** A sample in every language, one of which the style shows: the one that is chosen at the top of the page. */
export function sampleTabs(texts: Readonly<Record<SampleLanguage, string>>): string {
  const labels = LANGUAGES.map(
    (language) => `<label for="in-${language}" class="${language}">${SAMPLE_LANGUAGES[language].name}</label>`,
  );
  // An empty line would end the block of HTML in Markdown.
  const blocks = LANGUAGES.map(
    (language) =>
      `<div class="sample ${language}"><pre tabindex="0"><code data-language="${language}">${escapeHtml(texts[language]).replaceAll('\n', '&#10;')}</code></pre></div>`,
  );
  return `<div class="samples"><div class="tabs">${labels.join('')}</div>${blocks.join('')}</div>\n`;
}

/** Where a reader chooses, without script: the style looks which one is checked. */
export function languageChoice(language: Language): string {
  const choices = LANGUAGES.map(
    (one, index) =>
      `<span><input type="radio" name="in" id="in-${one}"${index === 0 ? ' checked' : ''}><label for="in-${one}">${SAMPLE_LANGUAGES[one].name}</label></span>`,
  );
  return `<fieldset class="choice"><legend>${CHOOSE[language]}</legend>${choices.join('')}</fieldset>`;
}
