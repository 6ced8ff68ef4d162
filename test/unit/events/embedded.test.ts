import test from 'ava';
import { listEvents, settledHead } from '../../../server/db/queries/events.ts';
import { recordEvents } from '../../../server/events/record.ts';
import { embeddedDatabase } from '../../support/database.ts';

test('the embedded database reads its log the same way', async (t) => {
  const { store } = await embeddedDatabase(t);
  const record = recordEvents(() => new Date());
  const read = (after: bigint) => store.read((tx) => listEvents(tx, {}, after, 200));
  t.is(await store.read(settledHead), 0n);
  for (const objectNo of ['a', 'b'])
    await store.transaction((tx) =>
      record(tx, {
        type: 'order.paid',
        clientId: 'app_a',
        project: 'default',
        objectNo,
        dedupe: 'once',
        since: new Date(),
        object: { orderNo: objectNo },
      }),
    );
  const [first] = await read(0n);
  t.deepEqual(
    (await read(first!.sequence)).map(({ objectNo }) => objectNo),
    ['b'],
  );
});
