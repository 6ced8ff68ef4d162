import type { Effects } from './ports.ts';

/** Nothing else happens when money moves: for tests of the money path alone. */
export const noEffects: Effects = {
  admit: async () => {},
  readmit: async () => true,
  paid: async () => {},
  ended: async () => {},
  refundReserved: async () => {},
  refundSucceeded: async () => {},
  refundFailed: async () => {},
};
