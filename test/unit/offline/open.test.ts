import test from 'ava';
import { proposedName } from '../../../server/offline/open.ts';

test('the proposed name of the merchant is the host of the public URL, if payers can know it', (t) => {
  t.deepEqual(proposedName('https://pay.shop.example:8443/'), { proposed: 'pay.shop.example' });
  t.deepEqual(proposedName('https://xn--fiq228c.example'), { proposed: 'xn--fiq228c.example' });
  for (const url of ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080', 'http://pay:8080'])
    t.deepEqual(proposedName(url), {}, url);
});
