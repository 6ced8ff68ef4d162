/** Whether this is a long run (`npm run test:long`). */
export const isLong = process.env.PAY_TEST_LONG === '1';

/** The fraction of the full counts in a long run: `--share`. */
const share = Number(process.env.PAY_TEST_SHARE ?? 1);

/** The full count in a long run, or its share of it; a smaller one otherwise. */
export function count(long: number, short: number): number {
  return isLong ? Math.max(short, Math.ceil(long * share)) : short;
}

/** Runs `work` for 0 … n-1, at most `width` at a time, and returns the results in order. */
export async function inParallel<T>(n: number, width: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = Array.from({ length: n });
  let next = 0;
  const queueKey = async () => {
    while (next < n) {
      const index = next++;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, n) }, queueKey));
  return results;
}

/** Repeats a request after a 503 (perhaps not accepted) or 504 (answer lost), as a merchant does. */
export async function untilTaken<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503 && answer.status !== 504) return answer;
  }
}
