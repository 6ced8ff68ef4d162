import type { ExecutionContext } from 'ava';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';

/** A load balancer in front of servers on local ports. */
export interface Proxy {
  name: string;
  program: string;
  args(folder: string): string[];
  /** Returns the configuration; each response names its server in `X-Upstream`. */
  config(port: number, servers: readonly number[], folder: string): string;
}

/** HAProxy with its default keep-alive and health check settings. */
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

/** nginx with its default settings. */
export const nginx = nginxWith('nginx', '', '');

const sample = (name: string) => readFileSync(new URL(`../../config/deploy/${name}`, import.meta.url), 'utf8');

/** HAProxy with the sample in config/deploy, without HTTPS and with local servers. */
export const haproxyByItsSample: Proxy = {
  ...haproxy,
  name: 'HAProxy by its sample',
  config: (port, servers) =>
    sample('haproxy.cfg')
      .replace(/^ {2}bind .*$/m, `  bind 127.0.0.1:${port}\n  http-response set-header X-Upstream %s`)
      .replace(/^ {2}http-request deny .*$/m, '')
      .replaceAll(/( {2}server \w+ 10\..*\n)+/g, servers.map((at) => `  server ${at} 127.0.0.1:${at}\n`).join('')),
};

/** nginx with the sample in config/deploy, without HTTPS and with local servers. */
export const nginxByItsSample: Proxy = {
  ...nginx,
  name: 'nginx by its sample',
  config: (port, servers, folder) => {
    writeFileSync(
      join(folder, 'pay-proxy.conf'),
      `${sample('pay-proxy.conf')}add_header X-Upstream $upstream_addr always;\n`,
    );
    const site = sample('nginx.conf')
      .replaceAll(
        /( {2}server 10\..*\n)+/g,
        servers.map((at) => `  server 127.0.0.1:${at} max_fails=1 fail_timeout=5s;\n`).join(''),
      )
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *(ssl_certificate|allow|deny).*$/gm, '');
    return nginx.config(port, servers, folder).replace(/upstream pay[^]*$/, `${site}}\n`);
  },
};

/** Whether the program of the proxy is installed. */
export function isInstalled({ program }: Proxy): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;
}

/** Starts a proxy until the test ends; it may not accept connections immediately. */
export function startProxy(t: ExecutionContext, proxy: Proxy, port: number, servers: readonly number[]): void {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'temporary'));
  writeFileSync(join(folder, 'proxy.conf'), proxy.config(port, servers, folder));
  const child = spawn(proxy.program, proxy.args(folder), { stdio: ['ignore', 'ignore', 'ignore'] });
  t.teardown(() => void child.kill('SIGTERM'));
}
