import { escapeHtml } from './html.ts';

/** A text as a QR code, dark on light whatever the page's colours are: a picture of points, so that phones can save and read it. */
export async function qrImage(text: string, label: string): Promise<string> {
  const { default: qrcode } = await import('qrcode');
  const source = await qrcode.toDataURL(text, { errorCorrectionLevel: 'M', margin: 4, scale: 6 });
  return `<img class="qr" alt="${escapeHtml(label)}" src="${source}">`;
}
