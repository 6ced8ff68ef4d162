/** Longest text that is kept of a request or an answer, in characters. */
const MAX_KEPT = 16_384;

/** Members and parameters whose values give power or prove identity. */
const SECRET = [
  'sign',
  'signature',
  'paySign',
  'access_token',
  'refresh_token',
  'id_token',
  'app_auth_token',
  'auth_token',
  'client_secret',
  'secret',
  'password',
  'api_v3_key',
  'apiV3Key',
  'nonce',
  'private_key',
  'ciphertext',
  'alipay_cert_content',
].join('|');

const JSON_MEMBER = new RegExp(`("(?:${SECRET})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"?`, 'gi');
const FORM_FIELD = new RegExp(`((?:^|[?&])(?:${SECRET})=)[^&\\s"]*`, 'gi');
const PEM = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g;
const BEARER = /\b(Bearer|Basic|WECHATPAY2-SHA256-RSA2048)\s+[^\s"]+/g;

/** A request or answer text that may be kept: signatures, tokens, keys and secrets replaced, cut to 16 KB. */
export function redactText(text: string): string {
  const kept = text.length > MAX_KEPT ? `${text.slice(0, MAX_KEPT)}… (${text.length} characters)` : text;
  return kept
    .replace(JSON_MEMBER, '$1"***"')
    .replace(FORM_FIELD, '$1***')
    .replace(PEM, '***')
    .replace(BEARER, '$1 ***');
}

/** An address that may be kept: no user, no password, no secret parameter. */
export function redactUrl(url: string): string {
  return redactText(url.replace(/^(\w+:\/\/)[^/?#]*@/, '$1'));
}
