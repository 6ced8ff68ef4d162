/** Gives each thing that is told apart by its key a small number; of things with one key the first is kept. */
export class Interned<Thing> {
  readonly #numbers = new Map<string, number>();
  readonly #things: Thing[] = [];

  /** The number of a thing. */
  add(key: string, thing: () => Thing): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#things.length;
    this.#numbers.set(key, number);
    this.#things.push(thing());
    return number;
  }

  /** The thing of a number. */
  get(number: number): Thing {
    return this.#things[number]!;
  }

  /** How many there are. */
  get size(): number {
    return this.#things.length;
  }
}

/** A text that two values have in common exactly when they are the same: dates and amounts written out, errors by their name. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, function write(this: Record<string, unknown>, name: string, one: unknown) {
    const given = this[name];
    if (given instanceof Date) return `@${given.getTime()}`;
    if (typeof one === 'bigint') return `${one}n`;
    if (one instanceof Error) return `${one.name}: ${one.message}`;
    return one;
  });
}
