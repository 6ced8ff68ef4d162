/** One message of an event stream. */
export interface StreamMessage {
  id: string;
  event: string;
  data: string;
}

/** Reads a text/event-stream into messages; comments (heartbeats) come out as nothing, a bare id as a message without data. */
export async function* readMessages(parts: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder();
  let held = '';
  for await (const part of parts) {
    held += decoder.decode(part, { stream: true });
    const blocks = held.split(/\r?\n\r?\n/);
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = readBlock(block);
      if (message) yield message;
    }
  }
}

function readBlock(block: string): StreamMessage | undefined {
  const message: StreamMessage = { id: '', event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'id') message.id = value;
    else if (field === 'event') message.event = value;
  }
  return data.length > 0 || message.id !== '' ? { ...message, data: data.join('\n') } : undefined;
}
