import { Cancelled, FlagRequired } from './errors.ts';
import { forTerminal, wrap } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';

/** A question, and the flag that gives the answer in runs without a terminal. */
export interface Question {
  message: string;
  flag: string;
  default?: string;
  /** Returns true for a valid answer, otherwise the error message. */
  validate?: (answer: string) => true | string;
}

interface Choice {
  value: string;
  name?: string;
  checked?: boolean;
}

/** The prompts. Without a terminal every method throws FlagRequired (exit code 2). */
export interface Prompts {
  readonly possible: boolean;
  text(question: Question): Promise<string>;
  secret(question: Question): Promise<string>;
  yes(question: Pick<Question, 'message' | 'flag'>): Promise<boolean>;
  choose(question: Question, choices: readonly Choice[]): Promise<string>;
  chooseMany(question: Question, choices: readonly Choice[]): Promise<string[]>;
}

/** Creates the prompts. inquirer is loaded at the first question, and writes to stderr. */
export function createPrompts(terminal: Terminal): Prompts {
  const ask = async <T>(flag: string, run: (kit: Inquirer, io: Io) => Promise<T>): Promise<T> => {
    if (!terminal.canAsk) throw new FlagRequired(flag);
    const { default: inquirer } = await import('inquirer');
    const closed = new AbortController();
    const onKey = (_text: unknown, key: { name?: string; ctrl?: boolean } | undefined): void => {
      // Ctrl-D closes readline without an event. Without this abort the prompt would never resolve.
      if (key?.ctrl && key.name === 'd') closed.abort();
    };
    terminal.stdin.on('keypress', onKey);
    const io: Io = {
      input: terminal.stdin,
      output: terminal.errStream,
      signal: AbortSignal.any([terminal.signal, closed.signal]),
    };
    try {
      // The types of inquirer allow any prompt name. The cast narrows them to the prompts that payctl uses.
      return await run(inquirer.prompt.prompts as unknown as Inquirer, io);
    } catch (error) {
      // Ctrl-C, a closed terminal and an aborted question all cancel the command.
      if (error instanceof Error && /^(ExitPromptError|AbortPromptError|CancelPromptError)$/.test(error.name))
        throw new Cancelled();
      throw error;
    } finally {
      terminal.stdin.off('keypress', onKey);
    }
  };
  // inquirer breaks lines inside words, so payctl wraps. inquirer needs three columns for `?` and the cursor.
  const fold = (message: string): string =>
    wrap(forTerminal(message), Math.max(20, terminal.err.columns - 3)).join('\n');
  return {
    possible: terminal.canAsk,
    text: ({ flag, message, default: proposed, validate }) =>
      ask(flag, (kit, io) =>
        kit.input(
          {
            message: fold(message),
            ...(proposed === undefined ? {} : { default: forTerminal(proposed) }),
            ...(validate ? { validate } : {}),
          },
          io,
        ),
      ),
    secret: ({ flag, message, validate }) =>
      ask(flag, (kit, io) =>
        kit.password({ message: forTerminal(message), mask: '•', ...(validate ? { validate } : {}) }, io),
      ),
    yes: ({ flag, message }) => ask(flag, (kit, io) => kit.confirm({ message: fold(message), default: false }, io)),
    choose: ({ flag, message }, choices) =>
      ask(flag, (kit, io) => kit.select({ message: fold(message), choices: choices.map(named) }, io)),
    chooseMany: ({ flag, message }, choices) =>
      ask(flag, (kit, io) => kit.checkbox({ message: fold(message), choices: choices.map(named), required: true }, io)),
  };
}

/** Escapes control characters in the name, because inquirer prints the name to the terminal unchanged. */
function named(choice: Choice): Choice {
  return { ...choice, name: forTerminal(choice.name ?? choice.value) };
}

interface Inquirer {
  input(question: { message: string; default?: string; validate?: Question['validate'] }, io: Io): Promise<string>;
  password(question: { message: string; mask: string; validate?: Question['validate'] }, io: Io): Promise<string>;
  confirm(question: { message: string; default: boolean }, io: Io): Promise<boolean>;
  select(question: { message: string; choices: Choice[] }, io: Io): Promise<string>;
  checkbox(question: { message: string; choices: Choice[]; required: boolean }, io: Io): Promise<string[]>;
}

interface Io {
  input: Terminal['stdin'];
  output: Terminal['errStream'];
  signal: AbortSignal;
}
