declare module 'autocannon' {
  interface Result {
    requests: { average: number; total: number };
    latency: { p50: number; p99: number };
    duration: number;
    errors: number;
    timeouts: number;
    non2xx: number;
  }
  /** One of several requests that are sent alternately. */
  export interface Request {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string;
  }
  /** One connection. */
  export interface Client {
    setRequests(requests: Request[]): void;
    on(event: 'response', listen: (status: number, bytes: number, ms: number) => void): void;
  }
  interface Options {
    url: string;
    connections: number;
    duration: number;
    method?: string;
    headers?: Record<string, string>;
    body?: string;
    requests?: Request[];
    setupClient?(client: Client): void;
    /** Seconds. */
    timeout?: number;
    /** Requests per second of all connections together. */
    overallRate?: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
