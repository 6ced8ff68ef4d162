import { styleText } from 'node:util';
import { ownSequence } from './escapes.ts';

/** The looks that payctl uses. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'white' | 'onBlack' | 'inverse';

/** Paints a text, or leaves it as it is when its stream has no colours. */
export type Style = (look: Look | readonly Look[], text: string) => string;

/** What decides about colours, strongest first: --color, NO_COLOR, FORCE_COLOR, TERM=dumb, the stream. */
export function wantsColor(
  flag: string | undefined,
  env: Record<string, string | undefined>,
  isTerminal: boolean,
): boolean {
  if (flag === 'always') return true;
  if (flag === 'never') return false;
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0';
  if (env['TERM'] === 'dumb') return false;
  return isTerminal;
}

/** Makes the painter of one stream. */
export function createStyle(enabled: boolean): Style {
  if (!enabled) return (_look, text) => text;
  return (look, text) => {
    const [before = '', after = ''] = sequencesOf([look].flat());
    return before + text + after;
  };
}

/** What is written before and after a painted text. */
function sequencesOf(looks: readonly Look[]): string[] {
  const names = looks.map((name) => (name === 'onBlack' ? 'bgBlack' : name)) as Parameters<typeof styleText>[0];
  const around = styleText(names, '|', { validateStream: false }).split('|');
  return around.map((codes) =>
    codes
      .split('\u001B')
      .map((code, at) => (at === 0 ? code : ownSequence(code)))
      .join(''),
  );
}

/** Goes to the start of the line and empties it. */
export const CLEAR_LINE = ownSequence('[G') + ownSequence('[K');
