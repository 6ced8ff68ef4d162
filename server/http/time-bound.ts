/** Rejects with `refusal()` when the work takes longer than `ms`; the work itself goes on, so use it for reads only. */
export async function within<T>(ms: number, work: Promise<T>, refusal: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refusal()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
