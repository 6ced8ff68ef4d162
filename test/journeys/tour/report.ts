import { drawQr } from '../../../cli/qr.ts';
import { createStyle, wantsColor } from '../../../cli/terminal-text.ts';
import type { Sink } from '../../../cli/terminal.ts';

/** Prints the tour: chapters, requests, answers and checks. */
export interface Report {
  chapter(title: string): void;
  say(text: string): void;
  asked(text: string, body?: unknown): void;
  answered(status: number | string, body?: unknown): void;
  checked(text: string): void;
  failed(text: string): void;
  qr(text: string): Promise<void>;
}

/** The maximum length of a printed answer. */
const LONGEST = 220;
const INDENT = '    ';

/** Creates a report on a stream; coloured only on a terminal, and never with NO_COLOR. */
export function createReport(out: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Report {
  const paint = createStyle(wantsColor(undefined, env, out.isTTY === true));
  const line = (text: string) => void out.write(`${text}\n`);
  const sink = { columns: (out.columns || 80) - INDENT.length, style: paint } as unknown as Sink;
  return {
    chapter: (title) => line(`\n${paint('bold', title)}`),
    say: (text) => line(`  ${paint('dim', text)}`),
    asked: (text, body) => line(`  ${paint('cyan', '→')} ${text}${short(body)}`),
    answered: (status, body) =>
      line(`  ${paint(Number(status) >= 400 ? 'yellow' : 'green', `← ${status}`)}${paint('dim', short(body))}`),
    checked: (text) => line(`  ${paint('green', '✔')} ${text}`),
    failed: (text) => line(`\n${paint('red', `✘ ${text}`)}`),
    async qr(text) {
      const drawn = await drawQr(text, sink);
      line(
        drawn
          ? drawn.trimEnd().replaceAll(/^/gm, INDENT)
          : `${INDENT}(the code of ${text} is wider than this terminal)`,
      );
    },
  };
}

function short(body: unknown): string {
  if (body === undefined) return '';
  const text = JSON.stringify(body);
  return ` ${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}`;
}
