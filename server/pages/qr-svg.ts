/** Light modules around a code; scanners want four. */
const QUIET = 4;

/** Draws a text as a QR code: one path, dark on light whatever the page's colours are. */
export async function qrSvg(text: string, label: string): Promise<string> {
  const { default: qrcode } = await import('qrcode');
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'M' });
  const side = modules.size + 2 * QUIET;
  let path = '';
  for (let row = 0; row < modules.size; row += 1) {
    for (const [start, length] of darkRuns(modules, row)) {
      path += `M${start + QUIET} ${row + QUIET}h${length}v1h-${length}z`;
    }
  }
  return `<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges"><rect width="${side}" height="${side}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}

function darkRuns(modules: { size: number; get(row: number, column: number): number }, row: number) {
  const runs: [start: number, length: number][] = [];
  for (let column = 0; column < modules.size; column += 1) {
    if (!modules.get(row, column)) continue;
    const last = runs.at(-1);
    if (last && last[0] + last[1] === column) last[1] += 1;
    else runs.push([column, 1]);
  }
  return runs;
}
