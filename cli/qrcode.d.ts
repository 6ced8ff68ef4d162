declare module 'qrcode' {
  interface QrModules {
    size: number;
    /** Returns 1 for a dark square of the QR code, otherwise 0. */
    get(row: number, column: number): number;
  }
  interface QrKit {
    create(text: string, options?: { errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H' }): { modules: QrModules };
    /**
     * A PNG as a `data:` address. `scale` = pixels per square of the QR code; `margin` = width of the border in
     * squares.
     */
    toDataURL(text: string, options: { errorCorrectionLevel: 'M'; margin: number; scale: number }): Promise<string>;
  }
  const kit: QrKit;
  export default kit;
}
