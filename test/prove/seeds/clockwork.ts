/** A lifetime; events scheduled for a dead one do not run. */
export interface Life {
  dead: boolean;
}

/** The text of an event, built only when it is read. */
export type Label = string | { toString(): string };

/** Runs all events of a simulated world serially in virtual time. */
export class Clockwork {
  /** Milliseconds since 1970. */
  now: number;
  /** Called with every step before it runs. */
  readonly #emit: (label: Label) => void;
  readonly #heap: Waiting[] = [];
  #sequence = 0;

  constructor(beginning: number, emit: (label: Label) => void) {
    this.now = beginning;
    this.#emit = emit;
  }

  /** Schedules `run` at a moment, after everything due earlier; it is skipped if `life` has ended. Returns a function that cancels it. */
  at(moment: number, label: Label, run: () => unknown, life?: Life): () => void {
    const one: Waiting = { moment: Math.max(moment, this.now), sequence: this.#sequence++, label, run, life };
    push(this.#heap, one);
    return () => void (one.isOver = true);
  }

  /** The time of the next event; undefined if there is none. */
  get next(): number | undefined {
    this.#dropOver();
    return this.#heap[0]?.moment;
  }

  /** Runs all events until a moment, in order and each to its end. Stops between two moments once `isEnough` holds. */
  async runUntil(moment: number, isEnough?: () => boolean): Promise<void> {
    let isBegun = false;
    for (let next = this.next; next !== undefined && next <= moment; next = this.next) {
      if (isBegun && next > this.now && isEnough?.()) return;
      isBegun = true;
      const { run, label } = pop(this.#heap)!;
      this.now = next;
      this.#emit(label);
      // A database may take real time; nothing else runs meanwhile.
      const work = run();
      if (work instanceof Promise) await work;
      await settled();
    }
  }

  #dropOver(): void {
    while (this.#heap[0]?.isOver || this.#heap[0]?.life?.dead) pop(this.#heap);
  }
}

interface Waiting {
  readonly moment: number;
  readonly sequence: number;
  readonly label: Label;
  readonly run: () => unknown;
  readonly life: Life | undefined;
  isOver?: boolean;
}

/** Resolves when no promise is pending: only then does Node run the next macrotask. Nothing else here waits for anything but promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => void process.nextTick(resolve));
}

function isBefore(one: Waiting, other: Waiting): boolean {
  return one.moment < other.moment || (one.moment === other.moment && one.sequence < other.sequence);
}

function push(heap: Waiting[], one: Waiting): void {
  let at = heap.push(one) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!isBefore(one, heap[above]!)) break;
    heap[at] = heap[above]!;
    at = above;
  }
  heap[at] = one;
}

function pop(heap: Waiting[]): Waiting | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return first;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
    if (!isBefore(heap[below]!, last)) break;
    heap[at] = heap[below]!;
    at = below;
  }
  heap[at] = last;
  return first;
}
