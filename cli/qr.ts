import type { Sink } from './terminal.ts';

const QUIET = 2;

/** Draws a QR code, dark on light, which all cameras can read; undefined if the terminal is too small. */
export async function drawQr(text: string, sink: Sink): Promise<string | undefined> {
  const { default: qrcode } = await import('qrcode');
  const { modules } = qrcode.create(text, { errorCorrectionLevel: 'L' });
  const side = modules.size + 2 * QUIET;
  if (side > sink.columns) return undefined;
  const isDark = (x: number, y: number): boolean =>
    modules.get(y - QUIET, x - QUIET) === 1 && inside(x - QUIET, modules.size) && inside(y - QUIET, modules.size);
  const lines: string[] = [];
  for (let y = 0; y < side; y += 2) {
    let line = '';
    for (let x = 0; x < side; x += 1) line += block(!isDark(x, y), y + 1 >= side || !isDark(x, y + 1));
    lines.push(paint(line, sink));
  }
  return `${lines.join('\n')}\n`;
}

function inside(at: number, size: number): boolean {
  return at >= 0 && at < size;
}

/**
 * Returns a character for two squares of the QR code. Light squares are drawn and dark ones left blank, so that cameras
 * can also read the code on a dark terminal without colours.
 */
function block(upperLight: boolean, lowerLight: boolean): string {
  if (upperLight) return lowerLight ? '█' : '▀';
  return lowerLight ? '▄' : ' ';
}

function paint(line: string, sink: Sink): string {
  return sink.style(['white', 'onBlack'], line);
}
