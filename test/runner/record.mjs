// `npm test -- --record` loads it into every Node process of a run, also into those that tests start and into threads: each leaves a file
// about what of ours it executed. Plain JavaScript: npm's own Node may be an old one.
import { ChildProcess } from 'node:child_process';
import { readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { threadId } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';

const root = new URL('../../', import.meta.url).href;
const OURS = /^(?!.*\/node_modules\/)(?:(?:server|cli|config|bin|test)\/.*\.(?:ts|mjs)|dist\/.*\.js)$/;
const file = join(process.env.PAY_TEST_RECORD ?? '', `${process.pid}-${threadId}-${process.hrtime.bigint()}`);
/** Set in what a test file starts; in its own process it is set later. A run inside a test belongs to that test. */
const starter = process.env.PAY_TEST_FILE;
const session = new Session();
const state = { told: false, failed: false, passed: false };

/** A process that is killed meanwhile leaves its previous record whole. */
const write = (what) => {
  writeFileSync(`${file}.part`, gzipSync(JSON.stringify(what), { level: 1 }));
  renameSync(`${file}.part`, file);
};

/** A path from the root, when it is one of ours. */
const ours = (url) => {
  const path = url.startsWith(root) ? decodeURIComponent(url.slice(root.length).split('?')[0]) : '';
  return OURS.test(path) ? path : undefined;
};

/** Begin and end of what ran of a script, in turns: inside of functions that ran there are blocks that did not. */
function executed(functions) {
  const marks = new Uint8Array(functions[0].ranges[0].endOffset + 1);
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges))
    marks.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const found = [];
  for (let at = marks.indexOf(1); at >= 0; at = marks.indexOf((found.length + 1) % 2, at)) found.push(at);
  return found;
}

/** A module, and of each function in it where it is and whether it ran; of built code only whether any of it did. */
function moduleOf(path, functions) {
  const inner = functions
    .slice(1)
    .map(({ ranges: [{ startOffset, endOffset, count }] }) => [`${startOffset},${endOffset}`, count]);
  if (!path.startsWith('dist/')) return { path, functions: Object.fromEntries(inner), executed: executed(functions) };
  const source = path.replace(/^dist\/(.*)\.js$/, '$1.ts').replace(/^clients\/ts\//, 'server/client/ts/');
  return { path: source, functions: inner.some(([, count]) => count > 0) ? { any: 1 } : {}, executed: [] };
}

/** Writes once what this process did. */
function tell(code) {
  const test = starter ?? process.env.PAY_TEST_FILE;
  if (state.told || test === undefined) return;
  state.told = true;
  session.post('Profiler.takePreciseCoverage', (_, { result }) => {
    const known = result.filter(({ url, functions }) => functions.length > 0 && ours(url));
    const modules = known.map(({ url, functions }) => moduleOf(ours(url), functions));
    write({ test, ended: starter ? 'child' : code === 0 && state.passed ? 'passed' : 'failed', modules });
  });
}

const { spawn, kill: killChild } = ChildProcess.prototype;
const { kill, send } = process;

/** A child has these, whatever else its starter leaves it of the environment. */
function spawnRecorded(options) {
  for (const name of ['NODE_OPTIONS', 'PAY_TEST_RECORD', 'PAY_TEST_FILE', 'NODE_DISABLE_COMPILE_CACHE'])
    if (process.env[name] !== undefined && !options.envPairs.some((pair) => pair.startsWith(`${name}=`)))
      options.envPairs.push(`${name}=${process.env[name]}`);
  return spawn.call(this, options);
}

function isNode(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`).endsWith('/node');
  } catch {
    return false;
  }
}

/** Asks one that is to be killed to tell and to kill itself, by a signal that is nothing to who does not listen. */
function killSoftly(pid, signal, send) {
  if (signal !== 'SIGKILL' || !isNode(pid)) return send(signal);
  // Its event loop may stand still.
  setTimeout(() => isNode(pid) && kill.call(process, pid, signal), 20_000).unref();
  return send('SIGURG');
}

if (process.env.PAY_TEST_RECORD && !/\/ava\/entrypoints\/cli\.m?js$/.test(process.argv[1] ?? '')) {
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  // What ends without another word has done who knows what.
  if (starter && ours(pathToFileURL(process.argv[1] ?? '').href)) write({ test: starter, modules: [] });
  ChildProcess.prototype.spawn = spawnRecorded;
  ChildProcess.prototype.kill = function (signal) {
    return killSoftly(this.pid, signal, (each) => killChild.call(this, each));
  };
  process.kill = (pid, signal) => {
    if (pid !== process.pid) return killSoftly(pid, signal, (each) => kill.call(process, pid, each));
    if (signal === 'SIGKILL') tell();
    return kill.call(process, pid, signal);
  };
  process.on('exit', tell);
  // What AVA's process for a test file says to the one that started it.
  if (send && !starter)
    process.send = (message, ...rest) => {
      state.failed ||= /failed|exception|rejection|error/.test(message?.ava?.type);
      if (message?.ava?.type === 'worker-finished') state.passed = !state.failed;
      return send.call(process, message, ...rest);
    };
  if (threadId === 0) {
    process.on('SIGURG', () => process.kill(process.pid, 'SIGKILL'));
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
      process.on(signal, function last() {
        // A program that has an answer of its own lives on.
        if (process.listenerCount(signal) > 1) return;
        tell();
        process.off(signal, last);
        kill.call(process, process.pid, signal);
      });
  }
}
