import { setFlagsFromString } from 'node:v8';

const LEAN = ['--semi-space-growth-factor=1', '--heap-growing-percent=40'];
/** V8's own. */
const USUAL = ['--semi-space-growth-factor=2', '--heap-growing-percent=0'];

let readers = 0;

/**
 * Has V8 collect garbage before it enlarges the heap, until the returned function is called. Reading a bill makes gigabytes of short-lived
 * texts, for which V8 would take two hundred megabytes more and be slow to give them back. Both are factors that V8 looks up at each
 * collection; one that does not know them any more needs more memory, nothing else.
 */
export function keepHeapLean(): () => void {
  readers += 1;
  if (readers === 1) for (const flag of LEAN) setFlagsFromString(flag);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    readers -= 1;
    if (readers === 0) for (const flag of USUAL) setFlagsFromString(flag);
  };
}
