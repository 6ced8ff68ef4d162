/** How long somebody waits at most for what others do (ms); what is under way goes on, and is settled whenever it ends. */
export interface Patience {
  /** A query, for the channel. */
  query: number;
  /** The page of a payer who came back, for the channel. */
  page: number;
  /** A 402, for a code of WeChat's agents. */
  agentCode: number;
  /** A paid call, for its work. */
  work: number;
}

/** As long as people and programs wait willingly. */
export const PATIENCE: Patience = { query: 2_000, page: 3_000, agentCode: 2_000, work: 8_000 };

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
