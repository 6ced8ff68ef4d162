/** So often it looks whether another replica has done it (ms). */
export const LOOK_MS = 100;

/** Until the work ends, at most `ms`. */
export async function pause(work: Promise<void> | undefined, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race(work ? [work, promise] : [promise]);
  clearTimeout(timer);
}
