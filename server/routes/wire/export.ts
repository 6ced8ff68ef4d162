/** The headers of a file that is streamed. */
export function exportHeaders(name: string, format: 'csv' | 'ndjson'): Record<string, string> {
  const type = format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson; charset=utf-8';
  return { 'content-type': type, 'content-disposition': `attachment; filename="${name}.${format}"` };
}
