#!/usr/bin/env node
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`payctl needs Node.js 24.15 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  // Below the user's own folder: what others could write to is never run as code.
  const cache =
    process.env['NODE_COMPILE_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'payctl');
  module.enableCompileCache(cache);
  const cancel = new AbortController();
  process.once('SIGINT', () => cancel.abort());
  const { main } = await import('../cli/main.ts');
  process.exitCode = await main(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    signal: cancel.signal,
  });
}
