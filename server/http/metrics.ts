/** What the edge reports about each answer. */
export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void;
}
