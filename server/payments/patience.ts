/** The result, or undefined when it takes longer; a late failure is nobody's and stays silent here. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}
