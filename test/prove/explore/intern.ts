/** Numbers items by their key and keeps the first item of each key. */
export class Interned<Thing> {
  readonly #numbers = new Map<string, number>();
  readonly #things: Thing[] = [];

  add(key: string, thing: () => Thing): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#things.length;
    this.#numbers.set(key, number);
    this.#things.push(thing());
    return number;
  }

  get(number: number): Thing {
    return this.#things[number]!;
  }

  get size(): number {
    return this.#things.length;
  }
}

/** A text that is equal for exactly the equal values: dates and amounts written out, errors by their name. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, function write(this: Record<string, unknown>, name: string, one: unknown) {
    const given = this[name];
    if (given instanceof Date) return `@${given.getTime()}`;
    if (typeof one === 'bigint') return `${one}n`;
    if (one instanceof Error) return `${one.name}: ${one.message}`;
    return one;
  });
}
