const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const PLAIN = /^[\x20-\x7E]*$/;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** A text as what a reader takes for its characters. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** Columns that one of them takes on a terminal: 0, 1 or 2. */
export function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Columns that a text takes on a terminal; wide characters take two, combining ones none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);
}

/** Cuts a text to at most `width` columns, ending in `…` when something is lost; never splits a character. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const grapheme of graphemes(text)) {
    const next = used + graphemeWidth(grapheme);
    if (next > width - 1) break;
    kept += grapheme;
    used = next;
  }
  return width > 0 ? `${kept}…` : '';
}

/** Fills a text with spaces up to `width` columns. */
export function padTo(text: string, width: number, side: 'left' | 'right' = 'right'): string {
  const gap = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return side === 'right' ? text + gap : gap + text;
}

/** Breaks a text into lines of at most `width` columns: at blanks, and between wide characters, which have no blanks between them. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const [gap, part] of parts(text, width)) {
    if (line !== '' && displayWidth(line) + gap.length + displayWidth(part) > width) {
      lines.push(line);
      line = part;
    } else line = line === '' ? part : `${line}${gap}${part}`;
  }
  return [...lines, line];
}

/** What stays together, with what stands before it; a word in wide characters stays whole where it fits into a line. */
function parts(text: string, width: number): [gap: string, part: string][] {
  return text.split(' ').flatMap((word): [string, string][] => {
    if (displayWidth(word) <= width || !WIDE.test(word)) return [[' ', word]];
    return graphemes(word).map((grapheme, index) => [index === 0 ? ' ' : '', grapheme]);
  });
}
