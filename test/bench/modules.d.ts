declare module 'autocannon' {
  interface Result {
    requests: { average: number; total: number };
    latency: { p50: number; p99: number };
    duration: number;
    errors: number;
    timeouts: number;
    non2xx: number;
  }
  interface Options {
    url: string;
    connections: number;
    duration: number;
    method: string;
    headers: Record<string, string>;
    body?: string;
    expectBody?: string;
    verifyBody?: (body: string) => boolean;
    requests?: {
      method: string;
      path: string;
      headers: Record<string, string>;
      setupRequest?: (request: Record<string, unknown>) => Record<string, unknown>;
    }[];
  }
  export default function autocannon(options: Options): Promise<Result>;
}
