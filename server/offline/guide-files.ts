import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GUIDES } from '../pages/guides.ts';
import { LANGUAGES } from '../pages/language.ts';
import { guideHtml, headingIds } from './guide-markdown.ts';
import { samplesIn } from './guide-samples.ts';

/** Makes every guide of its Markdown in `source`, in every language: by names such as `zh/webhooks.html`, without the frame. */
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

/** Writes them into a folder, for a build. */
export async function writeGuideFiles(folder: string, source: string): Promise<void> {
  for (const language of LANGUAGES) await mkdir(join(folder, language), { recursive: true });
  for (const [name, bytes] of Object.entries(await makeGuideFiles(source))) await writeFile(join(folder, name), bytes);
}
