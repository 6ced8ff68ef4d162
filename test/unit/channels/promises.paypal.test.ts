import test from 'ava';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { isLong } from '../../support/counts.ts';
import { testPromises } from './promises/simulated.ts';
import { unknownWord } from './paypal/scripted.ts';

// A webhook certificate comes with or without its intermediate; without it PayPal verifies. A long run (PAY_TEST_LONG) covers both.
for (const rotate of isLong ? ['certificate', 'leaf-only'] : ['leaf-only'])
  testPromises(test, paypalKind, { title: rotate, rotate, unknownWord });
