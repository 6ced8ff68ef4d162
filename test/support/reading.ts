/** An event stream of a service that a test reads in part. */
interface Reading {
  answer: Response;
  /** Reads until the text and its whole message have arrived, and returns everything that was read. */
  until(what: string | ((text: string) => boolean)): Promise<string>;
  /** Reads to the end. */
  ended(): Promise<string>;
  stop(): Promise<void>;
}

/** Opens an event stream with a token. */
export async function reading(
  service: { url: string },
  token: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Reading> {
  const answer = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    answer,
    async until(what) {
      const isThere = typeof what === 'string' ? () => holdsWhole(text, what) : () => what(text);
      while (!isThere()) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended before ${String(what)}: ${text}`);
        text += value;
      }
      return text;
    },
    async ended() {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return text;
        text += value;
      }
    },
    stop: () => reader.cancel(),
  };
}

/** Whether the text has arrived and its message is complete. */
function holdsWhole(text: string, words: string): boolean {
  const at = text.indexOf(words);
  return at >= 0 && text.includes('\n\n', at);
}

/** A message of an event stream whose data is JSON. */
export interface ReadMessage {
  id: string;
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into data of every shape
  data: any;
}

/** The complete messages of a text. */
export function messagesIn(text: string): ReadMessage[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const [, data] = /^data: (.*)$/m.exec(block) ?? [];
    if (data === undefined) return [];
    const member = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
    return [{ id: member('id'), event: member('event'), data: JSON.parse(data) as unknown }];
  });
}
