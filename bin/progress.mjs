// The progress line of the build. Plain JavaScript, like build.mjs; `startProgress` of cli/terminal.ts is that of payctl.

/**
 * Shows one line on a terminal, `building: compiling … 3 s`, from two seconds on and until `end`. The cursor stays at
 * its beginning, so that an error of a compiler overwrites it.
 */
export function showProgress(stream, what) {
  const begun = Date.now();
  let doing = '';
  let shown = false;
  const draw = () => {
    const seconds = Math.round((Date.now() - begun) / 1000);
    if (seconds < 2) return;
    shown = true;
    const line = `${what}: ${doing} … ${seconds} s`;
    stream.write(`\r\u001B[K${line.slice(0, (stream.columns || 80) - 1)}\r`);
  };
  const timer = stream.isTTY ? setInterval(draw, 1000) : undefined;
  timer?.unref();
  return {
    step: (name) => void (doing = name),
    end() {
      clearInterval(timer);
      if (shown) stream.write('\r\u001B[K');
    },
  };
}
