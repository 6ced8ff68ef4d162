declare module 'qrcode' {
  interface QrModules {
    size: number;
    /** 1 for a dark module. */
    get(row: number, column: number): number;
  }
  interface QrKit {
    create(text: string, options?: { errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H' }): { modules: QrModules };
  }
  const kit: QrKit;
  export default kit;
}
