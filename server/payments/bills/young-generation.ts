import { setFlagsFromString } from 'node:v8';

let readers = 0;

/**
 * Keeps V8 from enlarging the part of the heap for young objects until the returned function is called. Reading a bill makes
 * some gigabytes of short-lived texts, for which it would take a hundred megabytes more and never give them back; a small one costs
 * little time (the growth factor is read whenever the space is full; a V8 that does not heed it needs more memory, nothing else).
 */
export function keepYoungSmall(): () => void {
  readers += 1;
  if (readers === 1) setFlagsFromString('--semi-space-growth-factor=1');
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    readers -= 1;
    if (readers === 0) setFlagsFromString('--semi-space-growth-factor=2');
  };
}
