import test from 'ava';
import { readMessages, type StreamMessage } from '../../../cli/follow-stream.ts';

async function read(...parts: string[]): Promise<StreamMessage[]> {
  const messages: StreamMessage[] = [];
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield Buffer.from(part, 'latin1');
  }
  for await (const message of readMessages(bytes())) messages.push(message);
  return messages;
}

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

test('messages are complete for every split of the bytes', async (t) => {
  const text = utf8('id: 1\nevent: order.paid\ndata: {"a":"红"}\n\nid: 2\ndata: x\ndata: y\n\n');
  const expected = [
    { id: '1', event: 'order.paid', data: '{"a":"红"}' },
    { id: '2', event: 'message', data: 'x\ny' },
  ];
  t.deepEqual(await read(text), expected);
  t.deepEqual(await read(...text), expected);
});

test('heartbeats are skipped, a bare id moves the cursor, and an incomplete end is dropped', async (t) => {
  t.deepEqual(await read(': beat\n\n', 'id: 9\n\n', 'id: 10\ndata: torn'), [{ id: '9', event: 'message', data: '' }]);
});

test('lines may end with CRLF', async (t) =>
  t.deepEqual(await read('id: 1\r\ndata: a\r\n\r\n'), [{ id: '1', event: 'message', data: 'a' }]));
