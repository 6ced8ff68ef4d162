import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Length of the GCM tag at the end of every ciphertext, in bytes. */
const TAG = 16;

/** An encrypted member of a notice or of `GET /v3/certificates` (AEAD_AES_256_GCM, base64). */
export interface SealedText {
  ciphertext: string;
  nonce: string;
  associatedData: string;
}

/** Opens an AEAD_AES_256_GCM text with the APIv3 key (32 bytes); throws for a wrong key, tag, nonce or associated data. */
export function openText({ ciphertext, nonce, associatedData }: SealedText, apiV3Key: Buffer): string {
  const bytes = Buffer.from(ciphertext, 'base64');
  if (bytes.length <= TAG) throw new Error('The ciphertext is too short.');
  const decipher = createDecipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: TAG });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(bytes.subarray(-TAG));
  return Buffer.concat([decipher.update(bytes.subarray(0, -TAG)), decipher.final()]).toString('utf8');
}

/** Seals a text as WeChat Pay does; the opposite of openText (only the simulator seals). */
export function sealText(text: string, nonce: string, associatedData: string, apiV3Key: Buffer): SealedText {
  const cipher = createCipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: TAG });
  cipher.setAAD(Buffer.from(associatedData));
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { ciphertext: bytes.toString('base64'), nonce, associatedData };
}
