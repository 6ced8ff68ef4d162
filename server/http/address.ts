/** Host and port as one writes them in a URL. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Where the figures are; `port` is the one that was opened in the place of port 0. */
export function metricsUrl(listen: { host: string; port: number }, port = listen.port): string {
  return `http://${hostAndPort({ host: listen.host, port })}/metrics`;
}
