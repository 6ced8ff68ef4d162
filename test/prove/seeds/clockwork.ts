/** Something that can die; what was to happen for its sake then does not. */
export interface Life {
  dead: boolean;
}

/** What happens, in words that are made when somebody wants to read them. */
export type Label = string | { toString(): string };

/** Everything that happens in a simulated world, one thing after the other, on virtual time. */
export class Clockwork {
  /** Milliseconds since 1970. */
  now: number;
  /** Is told of every step before it is done. */
  readonly #emit: (label: Label) => void;
  readonly #heap: Waiting[] = [];
  #sequence = 0;

  constructor(beginning: number, emit: (label: Label) => void) {
    this.now = beginning;
    this.#emit = emit;
  }

  /** Has something done at a moment, or after everything that is due by now; `life` may end before. What it gives takes it back. */
  at(moment: number, label: Label, run: () => unknown, life?: Life): () => void {
    const one: Waiting = { moment: Math.max(moment, this.now), sequence: this.#sequence++, label, run, life };
    push(this.#heap, one);
    return () => void (one.isOver = true);
  }

  /** When the next thing happens; undefined = nothing does any more. */
  get next(): number | undefined {
    this.#dropOver();
    return this.#heap[0]?.moment;
  }

  /** Does everything that happens until a moment, in its order, each thing to its end. Between two moments it stops when it is enough. */
  async runUntil(moment: number, isEnough?: () => boolean): Promise<void> {
    let isBegun = false;
    for (let next = this.next; next !== undefined && next <= moment; next = this.next) {
      if (isBegun && next > this.now && isEnough?.()) return;
      isBegun = true;
      const { run, label } = pop(this.#heap)!;
      this.now = next;
      this.#emit(label);
      // A database may need its time; nothing else happens meanwhile.
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

/** Resolves when no promise has anything left to do: only then does Node what is to be done next. Nothing else here waits for anything but promises. */
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
