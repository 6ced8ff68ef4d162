import { hkdfSync } from 'node:crypto';

/** Keys of 32 bytes, each for one purpose, so that nothing signed for one is ever valid for another. */
export interface IdentityKeys {
  readonly adminTokens: Uint8Array;
  readonly accessTokens: Uint8Array;
  readonly csrf: Uint8Array;
  /** Names in counters: somebody may type a password where the name belongs. */
  readonly counters: Uint8Array;
}

/** Derives all keys from `JWT.SecretKey` (HKDF-SHA-256, RFC 5869); another secret gives other keys, so every token ends. */
export function deriveKeys(secretKey: string): IdentityKeys {
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', secretKey, 'unified-payment-service', purpose, 32));
  return {
    adminTokens: derive('administrator-jwt'),
    accessTokens: derive('oauth-access-token'),
    csrf: derive('csrf'),
    counters: derive('counters'),
  };
}
