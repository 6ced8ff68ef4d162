declare module 'qrcode' {
  interface QrModules {
    size: number;
    /** 1 for a dark module. */
    get(row: number, column: number): number;
  }
  interface QrKit {
    create(text: string, options?: { errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H' }): { modules: QrModules };
    /** A PNG in a `data:` address; `scale` points for each module, `margin` light modules around. */
    toDataURL(text: string, options: { errorCorrectionLevel: 'M'; margin: number; scale: number }): Promise<string>;
  }
  const kit: QrKit;
  export default kit;
}
