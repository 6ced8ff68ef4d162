const OFFSET_MS = 8 * 3_600_000;

/** Writes an instant as Alipay does: `yyyy-MM-dd HH:mm:ss` in UTC+8, whatever zone the process runs in. */
export function chinaTime(at: Date): string {
  return new Date(at.getTime() + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Reads `yyyy-MM-dd HH:mm:ss` (fractions allowed) of UTC+8; undefined when it is not such a time. */
export function readChinaTime(text: unknown): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/.test(text)) return undefined;
  const at = new Date(`${text.replace(' ', 'T')}+08:00`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}
