import type { ExecutionContext } from 'ava';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnFreePort } from './free-port.ts';

/** The faults of a statement on its way to the database and back. */
export const STATEMENT_FAULTS = [
  /** The connection is closed before the statement arrives. */
  'cut-before',
  /** The statement runs, and the connection is closed before the answer. */
  'cut-after',
  /** The connection is reset while the statement is running. */
  'reset',
  /** The statement is held until the service gives up, and then arrives. */
  'late-statement',
  /** The statement runs, and its answer is held until the service gives up. */
  'late-answer',
  /** Nothing is forwarded from here on; open connections never recover, and the database does not notice. */
  'black-hole',
] as const;

export type StatementFault = (typeof STATEMENT_FAULTS)[number];

/** A proxy to PostgreSQL that recognises statements. */
export interface StatementCable {
  url: string;
  /** Restarts the count of statements. */
  count(): void;
  /** The statements since `count`, in order, without those that no request waits for. */
  readonly seen: readonly string[];
  /** Applies a fault to the n-th statement (1 …) from now on. */
  strikeAt(n: number, fault: StatementFault): void;
  /** Applies a fault to the next statement with this text. */
  strikeNext(words: RegExp, fault: StatementFault): void;
  /** The statement that got the fault, if any. */
  readonly struck: string | undefined;
  /** From now on new connections work. */
  mend(): void;
  /** Closes the database's side of swallowed connections, as its own keep-alive would. */
  bury(): void;
}

/** Statements that no request waits for: they may come at any moment. */
const BESIDE =
  /^with fresh as materialized[^]*insert into channel_messages|^update (?:api_apps set last_used_at|channel_states set last_)/i;
const BEGIN = /^(?:begin|start transaction)/i;
const END = /^(?:commit|rollback)$/i;

interface Seen {
  readonly text: string;
}

/** Splits one direction of a connection into messages of PostgreSQL's protocol 3. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  /** The first message of a client has no type. */
  #bare: boolean;

  constructor(bare: boolean) {
    this.#bare = bare;
  }

  /** Returns the messages that are complete by now. */
  *take(bytes: Buffer): Generator<{ type: string; message: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const head = this.#bare ? 0 : 1;
      if (this.#rest.length < head + 4) return;
      const length = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < length) return;
      const message = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      const type = this.#bare ? '' : String.fromCharCode(message[0]!);
      this.#bare = false;
      yield { type, message };
    }
  }
}

/** Finds the text of a statement: of a query, a parse, or the earlier parse whose name is bound. */
class Texts {
  readonly #named = new Map<string, string>();

  read(type: string, message: Buffer): string | undefined {
    if (type === 'Q') return textAt(message, 5).text;
    if (type === 'P') {
      const name = textAt(message, 5);
      const { text } = textAt(message, name.end);
      this.#named.set(name.text, text);
      return text;
    }
    if (type === 'B') return this.#named.get(textAt(message, textAt(message, 5).end).text);
    return undefined;
  }
}

function textAt(message: Buffer, from: number): { text: string; end: number } {
  const end = message.indexOf(0, from);
  return { text: message.toString('utf8', from, end), end: end + 1 };
}

/** Starts a proxy to the host and port of `to`; the rest of the address stays the same. */
export async function layStatementCable(t: Pick<ExecutionContext, 'teardown'>, to: string): Promise<StatementCable> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  /** The database's ends of swallowed connections. */
  const orphans = new Set<Socket>();
  let seen: Seen[] = [];
  let trap: { isIt: (text: string) => boolean; fault: StatementFault } | undefined;
  let struck: string | undefined;
  let swallowing = false;
  /** The effect of a black hole on each open connection. */
  const deaths = new Set<() => void>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };

  /** Records a statement and returns its fault. */
  const meet = (one: Seen, isWhole: boolean): StatementFault | undefined => {
    seen.push(one);
    if (!isWhole || !trap?.isIt(one.text)) return undefined;
    const { fault } = trap;
    trap = undefined;
    struck = one.text;
    return fault;
  };

  const server = createServer((near) => {
    keep(near);
    if (swallowing) return;
    const far = keep(connect(Number(target.port), target.hostname));
    let mode: 'whole' | 'dead' | 'holding' | 'answer-held' | 'cut-when-answered' = 'whole';
    const held: Buffer[] = [];
    let unit: Buffer[] = [];
    let text: string | undefined;
    /** The beginning of the transaction that is open on this connection. */
    let begun: Seen | undefined;
    let inBeside = false;
    const die = (): void => {
      mode = 'dead';
      orphans.add(far);
    };
    deaths.add(die);
    near.on('close', () => deaths.delete(die));
    const fromNear = new Messages(true);
    const fromFar = new Messages(false);
    const texts = new Texts();
    const end = (): void => {
      near.destroy();
      far.destroy();
    };

    const isBeside = (statement: string): boolean => {
      if (BESIDE.test(statement)) {
        // Whether a request waits for a transaction is known only after its beginning.
        if (begun) seen = seen.filter((one) => one !== begun);
        inBeside = begun !== undefined;
        return true;
      }
      if (!END.test(statement)) return inBeside;
      const was = inBeside;
      begun = undefined;
      inBeside = false;
      return was;
    };
    const send = (bytes: Buffer): void => {
      if (mode === 'dead') return;
      if (mode === 'holding') held.push(bytes);
      else far.write(bytes);
    };
    const pass = (statement: string, bytes: Buffer): void => {
      if (isBeside(statement)) return send(bytes);
      const one = { text: statement };
      if (BEGIN.test(statement)) begun = one;
      const fault = meet(one, mode === 'whole');
      if (fault === 'cut-before') return end();
      if (fault === 'black-hole') {
        swallowing = true;
        for (const die of deaths) die();
        return;
      }
      if (fault === 'late-statement') mode = 'holding';
      send(bytes);
      if (fault === 'cut-after') mode = 'cut-when-answered';
      if (fault === 'late-answer') mode = 'answer-held';
      if (fault === 'reset') {
        near.resetAndDestroy();
        far.resetAndDestroy();
      }
    };

    near.on('data', (bytes: Buffer) => {
      for (const { type, message } of fromNear.take(bytes)) {
        if (!'QPBDESCHF'.includes(type) || type === '') {
          send(message);
          continue;
        }
        unit.push(message);
        text = texts.read(type, message) ?? text;
        if (type !== 'Q' && type !== 'S') continue;
        const whole = Buffer.concat(unit);
        unit = [];
        pass(text ?? '', whole);
      }
    });
    far.on('data', (bytes: Buffer) => {
      if (mode === 'dead' || mode === 'answer-held') return;
      if (mode !== 'cut-when-answered') return void near.write(bytes);
      for (const { type } of fromFar.take(bytes)) if (type === 'Z') end();
    });
    near.on('close', () => {
      if (mode === 'dead') return;
      for (const bytes of held.splice(0)) far.write(bytes);
      far.end();
    });
    far.on('close', () => {
      if (mode !== 'dead') near.destroy();
    });
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const own = new URL(to);
  own.hostname = '127.0.0.1';
  own.port = String(port);
  return {
    url: own.href,
    count: () => {
      seen = [];
      struck = undefined;
    },
    get seen() {
      return seen.map(({ text }) => text);
    },
    strikeAt: (n, fault) => {
      seen = [];
      struck = undefined;
      trap = { isIt: () => seen.length === n, fault };
    },
    strikeNext: (words, fault) => {
      struck = undefined;
      trap = { isIt: (text) => words.test(text), fault };
    },
    get struck() {
      return struck;
    },
    mend: () => {
      trap = undefined;
      swallowing = false;
    },
    bury: () => {
      for (const orphan of orphans) orphan.destroy();
      orphans.clear();
    },
  };
}
