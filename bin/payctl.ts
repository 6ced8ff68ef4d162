#!/usr/bin/env -S node --max-semi-space-size=8

// If NO_COLOR and FORCE_COLOR are both set, payctl follows NO_COLOR. Node.js would follow FORCE_COLOR and print a
// warning on stderr.
if (process.env['NO_COLOR']) delete process.env['FORCE_COLOR'];
// If FORCE_COLOR and NODE_DISABLE_COLORS are both set, Node.js follows FORCE_COLOR and prints a warning on stderr.
// Without NODE_DISABLE_COLORS it prints no warning.
if (process.env['FORCE_COLOR']) delete process.env['NODE_DISABLE_COLORS'];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`payctl needs Node.js 24.15 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else if (!(await answerAtOnce().catch(outputLost))) {
  const [{ homedir }, { join }] = [process.getBuiltinModule('node:os'), process.getBuiltinModule('node:path')];
  // The compile cache is in the user's own folder, so that payctl never runs code that other users could write.
  const cache =
    process.env['NODE_COMPILE_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'payctl');
  process.getBuiltinModule('node:module').enableCompileCache(cache);
  if (process.env['NODE_USE_ENV_PROXY'] === '1')
    (await import('../cli/env-proxy.ts')).keepThisMachineDirect(process.env);
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
    signals: {
      on: (name, listener) => process.on(name, listener),
      off: (name, listener) => process.off(name, listener),
      // For `process.kill`, process id 0 means all processes of the process group of payctl.
      raise: (name, to) => void process.kill(to === 'group' ? 0 : process.pid, name),
    },
  });
}

/**
 * This file imports no module of Node.js: `node:fs` alone takes 5 ms, and an old Node.js would fail at the import, before
 * it prints the message above.
 */
async function answerAtOnce(): Promise<boolean> {
  return (await import('../cli/at-once.ts')).answerAtOnce(process.argv.slice(2), process.env);
}

/** A failed write to stdout is the only error that `answerAtOnce` can throw. */
function outputLost(error: Error): true {
  process.stderr.on('error', () => {});
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
  return true;
}
