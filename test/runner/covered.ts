// `node test/runner/covered.ts before.json.gz after.json.gz`: lines that tests executed in one recorded run but not in a later one; of
// a changed module only lines that both texts have.
import { type Covered, differences, readGzip, textOf } from './recorded.ts';

/** The lines of a module, with the executed parts. */
function linesOf([blob, executed]: Covered[string]): { text: string; ran: string }[] {
  const text = textOf(blob) ?? '';
  const ran = new Uint8Array(text.length);
  for (let at = 0; at < executed.length; at += 2) ran.fill(1, executed[at], executed[at + 1]);
  let from = 0;
  return text.split('\n').map((line) => {
    const begin = from;
    from += line.length + 1;
    return { text: line, ran: line.replaceAll(/./gs, (char, at: number) => (ran[begin + at] ? char : ' ')) };
  });
}

const [before, after] = process.argv.slice(2).map((path) => readGzip<Covered>(path));
for (const [path, was] of Object.entries(before ?? {}).toSorted()) {
  const is = after?.[path];
  if (!is) console.log(`${path}: nothing loads it any more`);
  if (!is || (is[0] === was[0] && String(is[1]) === String(was[1]))) continue;
  const [old, now] = [linesOf(was), linesOf(is)];
  const changes =
    is[0] === was[0]
      ? []
      : differences(...([old, now].map((lines) => lines.map(({ text }) => text).join('\n')) as [string, string]));
  let [at, other] = [0, 0];
  for (const [from, count, otherFrom, otherCount] of [...changes, [old.length, 0, now.length, 0] as const]) {
    for (; at < from && other < otherFrom; at++, other++) {
      const lost = old[at]!.ran.replaceAll(/\S/g, (char, place: number) =>
        now[other]!.ran[place] === char ? ' ' : char,
      );
      if (lost.trim() !== '') console.log(`${path}:${other + 1}: ${lost.trim()}`);
    }
    [at, other] = [from + count, otherFrom + otherCount];
  }
}
