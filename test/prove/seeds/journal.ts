import type { Line } from '../check-history.ts';
import { BEGINNING, type World } from './world.ts';

/** The time that a patient client waits. */
const PATIENCE_MS = 12_000;

/** The end of a request, and its answer. */
export interface Heard {
  readonly end: 'ok' | 'fail' | 'info';
  readonly facts: Line['value'];
}

/** The requests and answers of clients, in the form that `check-history.ts` reads. */
export class Journal {
  readonly lines: Line[] = [];
  readonly #world: World;
  #processes = 0;

  constructor(world: World) {
    this.#world = world;
  }

  note(type: string, process: Line['process'], f: string, value: Line['value']): void {
    const time = (this.#world.now - BEGINNING) * 1e6;
    this.lines.push({ index: this.lines.length, type, process, f, value, time });
  }

  /** Records a request and its end; after the client's time-out the outcome stays unknown. */
  ask(f: string, asked: Line['value'], work: () => Promise<Heard>): Promise<Heard> {
    const world = this.#world;
    const process = (this.#processes += 1);
    world.counts.operations += 1;
    this.note('invoke', process, f, asked);
    return new Promise((resolve) => {
      let isOver = false;
      const end = (heard: Heard) => {
        if (isOver) return;
        isOver = true;
        takeBack();
        this.note(heard.end, process, f, { ...asked, ...heard.facts });
        world.weigh(JSON.stringify([f, heard.end, heard.facts]));
        resolve(heard);
      };
      const giveUp = () => end({ end: 'info', facts: { code: 'TimeoutError' } });
      const takeBack = world.clockwork.at(world.now + PATIENCE_MS, `nobody waits for ${f} any more`, giveUp);
      void work().then(end);
    });
  }
}
