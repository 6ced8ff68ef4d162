/** Host and port as one writes them in a URL. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Where the service listens, when its public URL is plain HTTP to another port of this machine and no proxy is configured: links of
 * payers then lead nowhere. Null = the URL may lead here, or the port is not known yet (0).
 */
export function listensElsewhere(
  { publicUrl, trustedProxies }: { publicUrl: string; trustedProxies: number },
  listens: { host: string; port: number },
): string | null {
  const { protocol, hostname, port } = new URL(publicUrl);
  const isHere = protocol === 'http:' && /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
  const leadsHere = listens.port === 0 || Number(port || 80) === listens.port;
  return isHere && trustedProxies === 0 && !leadsHere ? hostAndPort(listens) : null;
}

/** Where the figures are; `port` is the one that was opened in the place of port 0. */
export function metricsUrl(listen: { host: string; port: number }, port = listen.port): string {
  return `http://${hostAndPort({ host: listen.host, port })}/metrics`;
}
