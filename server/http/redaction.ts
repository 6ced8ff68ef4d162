const hidden = '[redacted]';

/** Names whose values never reach the log, whatever they are and however deep. */
const secretName =
  /^(?:.*(?:password|passphrase|secret|private_?key|master_?key|api_?v3_?key|authorization|cookie|credential|signature).*|.*tokens?|csrf|jwt|pem|content|body|raw_?body|extra)$/i;

const block = String.raw`-----BEGIN [A-Z ]+-----(?:[^-]|-(?!-----END))*(?:-----END [A-Z ]+-----)?`;
const jwt = String.raw`eyJ[\w-]{5,}\.[\w-]*\.?[\w-]*(?:\.[\w-]+)*`;
const ours = String.raw`\b(?:pays_|whsec_)[\w+/=-]+`;
const bearer = String.raw`\b(?:Bearer|Basic)\s+[\w.~+/=-]{6,}`;
const longKey = String.raw`(?<![\w+/=-])(?=[A-Za-z+/_-]*\d)(?=[\d+/_-]*[A-Za-z])[\w+/-]{43,}={0,2}(?![\w+/=-])`;
const userInfo = String.raw`(?<=[a-z]://[^\s/:@"]*:)[^\s/@"]+(?=@)`;
const secretText = new RegExp([block, jwt, ours, bearer, longKey, userInfo].join('|'), 'g');
const rawControl = /[\u007f-\u009f\u2028\u2029]/g;

/** Hides secrets in text by their looks: PEM blocks, JWTs, our own secrets, Bearer and Basic values, long keys, passwords in URLs. */
export function redactText(text: string): string {
  return text
    .replace(secretText, hidden)
    .replace(rawControl, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A copy of a log object without the values of secret names; deeper than six levels nothing is kept. */
export function redactMembers(value: Record<string, unknown>, depth = 0): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) shown[name] = redactMember(name, member, depth);
  return shown;
}

function redactMember(name: string, member: unknown, depth: number): unknown {
  if (secretName.test(name) && member !== undefined && member !== null) return hidden;
  if (typeof member !== 'object' || member === null) return member;
  if (Buffer.isBuffer(member) || depth > 6) return hidden;
  if (member instanceof Error || member instanceof Date) return member;
  if (Array.isArray(member)) return member.map((entry: unknown) => redactMember('', entry, depth + 1));
  return redactMembers(member as Record<string, unknown>, depth + 1);
}
