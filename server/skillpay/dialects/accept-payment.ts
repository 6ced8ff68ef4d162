interface Range {
  method: string;
  intent: string;
  q: number;
}

const RANGE = /^([a-z]+|\*)\/([A-Za-z\d-]+|\*)(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * The methods that a client wants for the intent `charge`, its dearest first (`Accept-Payment`, draft-httpauth-payment-01).
 * All of them in their order when it says nothing, something malformed, or wants none of them.
 */
export function preferred<Method extends string>(header: string | undefined, methods: readonly Method[]): Method[] {
  const ranges = header === undefined ? undefined : readRanges(header);
  if (!ranges) return [...methods];
  const weighed = methods.map((method) => ({ method, q: weightOf(ranges, method) })).filter(({ q }) => q > 0);
  if (weighed.length === 0) return [...methods];
  return weighed.toSorted((a, b) => b.q - a.q).map(({ method }) => method);
}

function readRanges(header: string): Range[] | undefined {
  const found = header.split(',').map((part) => RANGE.exec(part.trim()));
  if (found.some((match) => match === null)) return undefined;
  return found.map((match) => ({ method: match![1]!, intent: match![2]!, q: Number(match![3] ?? 1) }));
}

/** The most specific range decides. */
function weightOf(ranges: readonly Range[], method: string): number {
  const fitting = ranges.filter((one) => fits(one.method, method) && fits(one.intent, 'charge'));
  const [best] = fitting.toSorted((a, b) => wildcards(a) - wildcards(b));
  return best?.q ?? 0;
}

function fits(pattern: string, name: string): boolean {
  return pattern === '*' || pattern === name;
}

function wildcards({ method, intent }: Range): number {
  return (method === '*' ? 2 : 0) + (intent === '*' ? 1 : 0);
}
