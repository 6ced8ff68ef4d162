import test from 'ava';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { isLong } from '../../support/counts.ts';
import { capturePromises } from '../../support/promises/captures.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { unknownWord } from './paypal/scripted.ts';

// The way of verifying webhooks that the redirect leaves out in a short run.
for (const rotate of isLong ? ['certificate', 'leaf-only'] : ['certificate'])
  testPromises(test, paypalKind, {
    title: `buttons, ${rotate}`,
    rotate,
    buttons: true,
    more: capturePromises('paypal'),
    unknownWord,
  });
