/** All values that a Cookie header gives a name, in order; more than one means that somebody planted a cookie. */
export function readCookies(header: string | undefined, name: string): string[] {
  if (!header?.includes(name)) return [];
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1).replace(/^"(.*)"$/, '$1'));
}
