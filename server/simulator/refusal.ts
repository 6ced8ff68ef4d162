/** The control API cannot do what was asked; `code` is stable. */
export class SimulatorRefusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'SimulatorRefusal';
    this.status = status;
    this.code = code;
  }
}
