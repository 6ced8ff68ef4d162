/** Whether the long counts are asked for (`npm run test:long`). */
export const isLong = process.env.PAY_TEST_LONG === '1';

/** Which part of the full counts a long run does: `--share`. */
const share = Number(process.env.PAY_TEST_SHARE ?? 1);

/** The full count of a promise in a long run, or its share of it, a smaller one otherwise. */
export function count(long: number, short: number): number {
  return isLong ? Math.max(short, Math.ceil(long * share)) : short;
}

/** Runs `work` for 0 … n-1, at most `width` at a time, and gives the results in order. */
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

/** Sends a request again while it may not have been taken (503) or its answer was lost (504), as a merchant does. */
export async function untilTaken<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503 && answer.status !== 504) return answer;
  }
}
