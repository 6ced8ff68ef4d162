"""Runs programs, each on its own terminal, and reports how they ended.

Reads a list of cases from stdin as JSON: { name, argv, env, size: [columns, rows], steps } with steps of
{ wait: text } (until the output holds it), { type: text }, { signal: name }, { resize: [columns, rows] }.
Writes for each case: { name, same: whether the terminal has the same modes as before, status, signal, output }.
"""
import fcntl, json, os, select, signal, struct, sys, termios, threading, time


def resize(fd, size):
    columns, rows = size
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def run(case):
    master, slave = os.openpty()
    resize(slave, case['size'])
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        os.closerange(3, 64)
        os.execve(case['argv'][0], case['argv'], {**os.environ, **case['env']})
    output = b''
    # Longer than any case takes on a slow machine; ends a program that hangs.
    end = time.monotonic() + 600
    steps = list(case['steps'])
    mark = 0
    status = None
    while status is None and time.monotonic() < end:
        if select.select([master], [], [], 0.05)[0]:
            try:
                output += os.read(master, 65536)
            except OSError:
                pass
        while steps and step(master, slave, pid, steps[0], output[mark:]):
            if 'wait' in steps.pop(0):
                mark = len(output)
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = code
    while select.select([master], [], [], 0.1)[0]:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        output += more
    same = before == termios.tcgetattr(slave)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {
        'name': case['name'],
        'same': same,
        'status': None if status is None or not os.WIFEXITED(status) else os.WEXITSTATUS(status),
        'signal': None if status is None or not os.WIFSIGNALED(status) else signal.Signals(os.WTERMSIG(status)).name,
        'output': output.decode('utf-8', 'replace'),
    }


def step(master, slave, pid, one, output):
    if 'wait' in one:
        return one['wait'].encode() in output
    if 'type' in one:
        os.write(master, one['type'].encode())
    elif 'signal' in one:
        os.kill(pid, signal.Signals[one['signal']])
    elif 'resize' in one:
        resize(slave, one['resize'])
        os.kill(pid, signal.SIGWINCH)
    return True


cases = json.load(sys.stdin)
results = [None] * len(cases)


def work(at):
    results[at] = run(cases[at])


threads = [threading.Thread(target=work, args=(at,)) for at in range(len(cases))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump(results, sys.stdout)
