/** How files of each kind begin, in hexadecimal. */
const BEGINS = {
  jpg: ['ffd8ff'],
  png: ['89504e470d0a1a0a'],
  gif: ['474946383761', '474946383961'],
  bmp: ['424d'],
  pdf: ['255044462d'],
} as const;
/** What a file may be. */
export type FileKind = keyof typeof BEGINS;

/** Whether bytes and name are of one of these kinds; `jpeg` is `jpg`. */
export function isOfKind(bytes: Buffer, fileName: string, kinds: readonly FileKind[]): boolean {
  const ending = fileName.toLowerCase().replace(/^.*\./, '').replace('jpeg', 'jpg');
  const start = bytes.subarray(0, 16).toString('hex');
  return kinds.some((kind) => kind === ending && BEGINS[kind].some((begin) => start.startsWith(begin)));
}
