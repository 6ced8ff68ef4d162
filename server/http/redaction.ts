const hidden = '[redacted]';

/** Names whose values never reach the log, whatever they are and however deep. */
const secretName =
  /password|passphrase|secret|private_?key|master_?key|api_?v3_?key|authorization|cookie|credential|recovery_?codes|signature|tokens?$|^(?:csrf|jwt|pem|content|body|raw_?body|extra)$/i;

/** Looks of secrets. Each begins with fixed text, which V8 finds fast; one alternation of all of them was fifty times slower. */
const secretTexts = [
  /-----BEGIN [A-Z ]+-----(?:[^-"]|-(?!----END))*(?:-----END [A-Z ]+-----)?/g,
  /eyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*/g,
  /pays_[\w-]{8,}/g,
  /whsec_[\w+/=-]{8,}/g,
  /otpauth:\/\/[^\s"]+/g,
  /Bearer\s+[\w.~+/=-]+/gi,
  /Basic\s+[\w.~+/=-]{6,}/gi,
];
const userInfo = /(:\/\/[^\s/:@"]*:)[^\s/@"]+(?=@)/g;
const longRun = /[\w+/-]{43,}={0,2}/g;
/** What JSON leaves as it is and a terminal obeys, reorders text by, or does not show. */
const rawControl = /[\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const ascii = /[\u0000-\u001f]/g;

/** Hides secrets in text by their looks: PEM blocks, JWTs, our own secrets, Bearer and Basic values, long keys, passwords in URLs. */
export function redactText(text: string): string {
  let shown = text;
  for (const looks of secretTexts) shown = shown.replace(looks, hidden);
  shown = shown.replace(userInfo, `$1${hidden}`);
  if (hasLongRun(shown))
    shown = shown.replace(longRun, (run, at: number, text: string) =>
      isKey(run) && !isTip(run, at, text) ? hidden : run,
    );
  return shown.replace(rawControl, escaped);
}

/** Text for a terminal: whatever it would obey, or reorder text by, is written as in JSON. */
export function plainText(text: string): string {
  return text.replace(rawControl, escaped).replace(ascii, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const runLength = 43;
const isRunChar = Uint8Array.from({ length: 128 }, (_, code) => (/[\w+/-]/.test(String.fromCharCode(code)) ? 1 : 0));

/** A run of 43 covers one of the places 42, 85, …, so looking at these and around them is enough. */
function hasLongRun(text: string): boolean {
  for (let place = runLength - 1; place < text.length; place += runLength) {
    let from = place;
    let to = place;
    while (isRunChar[text.charCodeAt(from)] === 1 && place - from < runLength) from -= 1;
    while (isRunChar[text.charCodeAt(to)] === 1 && to - from <= runLength) to += 1;
    if (to - from > runLength) return true;
  }
  return false;
}

/** Hexadecimal of 32 bytes, or base64 of as many; file paths of stack traces are as long but look different. */
function isKey(run: string): boolean {
  if (/^[0-9a-f]{64,}$/i.test(run)) return true;
  const count = (pattern: RegExp): number => run.match(pattern)?.length ?? 0;
  return count(/[A-Z]/g) >= 5 && count(/[a-z]/g) >= 5 && count(/\d/g) >= 1 && count(/\//g) <= 4;
}

/** The hash that an operator keeps outside (`payctl audit --tip`): worth nothing to anybody else. */
function isTip(run: string, at: number, text: string): boolean {
  return text.slice(at - TIP.length, at) === TIP && /^[0-9a-f]{64}$/.test(run);
}

const TIP = '"tip":"';

/** A copy of a log object without the values of secret names; deeper than six levels nothing is kept. */
export function redactMembers(value: Record<string, unknown>, depth = 0): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const name in value) shown[name] = redactMember(name, value[name], depth);
  return shown;
}

function redactMember(name: string, member: unknown, depth: number): unknown {
  if (member !== undefined && member !== null && isSecretName(name)) return hidden;
  if (typeof member !== 'object' || member === null) return member;
  if (Buffer.isBuffer(member) || depth > 6) return hidden;
  if (member instanceof Error || member instanceof Date) return member;
  if (Array.isArray(member)) return member.map((entry: unknown) => redactMember('', entry, depth + 1));
  return redactMembers(member as Record<string, unknown>, depth + 1);
}

const known = new Map<string, boolean>();

/** Names repeat with every line, so the answer is kept; names from outside cannot fill the memory. */
function isSecretName(name: string): boolean {
  const answer = known.get(name);
  if (answer !== undefined) return answer;
  const isSecret = secretName.test(name);
  if (known.size < 1000) known.set(name, isSecret);
  return isSecret;
}
