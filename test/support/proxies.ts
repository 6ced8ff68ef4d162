import type { ExecutionContext } from 'ava';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

/** A balancer of the distribution, with its own defaults, in front of servers on ports of this machine. */
export interface Proxy {
  name: string;
  program: string;
  args(folder: string): string[];
  /** Its configuration; each answer names the server that gave it in `X-Upstream`. */
  config(port: number, servers: readonly number[], folder: string): string;
}

/** HAProxy with keep-alive and health checks as they are without a word about them. */
export const haproxy: Proxy = {
  name: 'HAProxy',
  program: 'haproxy',
  args: (folder) => ['-db', '-f', join(folder, 'proxy.conf')],
  config: (port, servers) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen pay
  bind 127.0.0.1:${port}
  option httpchk GET /health/db
  http-response set-header X-Upstream %s
${servers.map((server) => `  server ${server} 127.0.0.1:${server} check`).join('\n')}
`,
};

function nginxWith(name: string, upstream: string, location: string): Proxy {
  return {
    name,
    program: 'nginx',
    args: (folder) => ['-p', folder, '-e', 'stderr', '-c', join(folder, 'proxy.conf'), '-g', 'daemon off;'],
    config: (port, servers, folder) => `
pid ${folder}/pid;
error_log stderr crit;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/temporary/body;
  proxy_temp_path ${folder}/temporary/proxy;
  fastcgi_temp_path ${folder}/temporary/fastcgi;
  uwsgi_temp_path ${folder}/temporary/uwsgi;
  scgi_temp_path ${folder}/temporary/scgi;
  upstream pay {
${servers.map((server) => `    server 127.0.0.1:${server};`).join('\n')}
    ${upstream}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://pay;
      add_header X-Upstream $upstream_addr always;
      ${location}
    }
  }
}
`,
  };
}

/** nginx as it is, and with connections that it keeps to the servers. */
export const nginxes: readonly Proxy[] = [
  nginxWith('nginx', '', ''),
  nginxWith('nginx with keep-alive', 'keepalive 16;', 'proxy_http_version 1.1; proxy_set_header Connection "";'),
];

/** Whether a program of the distribution is installed. */
export function isInstalled({ program }: Proxy): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;
}

/** Starts a balancer until the test ends; it may take a moment to answer. */
export function startProxy(t: ExecutionContext, proxy: Proxy, port: number, servers: readonly number[]): void {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'temporary'));
  writeFileSync(join(folder, 'proxy.conf'), proxy.config(port, servers, folder));
  const child = spawn(proxy.program, proxy.args(folder), { stdio: ['ignore', 'ignore', 'ignore'] });
  t.teardown(() => void child.kill('SIGTERM'));
}
