const ENVIRONMENT = `Environment

  PAYCTL_CONTEXT       context to use (flag: -C)
  PAYCTL_SERVER        server to use (flag: --server)
  PAYCTL_TOKEN         token for PAYCTL_SERVER, and for no other server
  PAYCTL_TOKEN_FILE    the same, from a file
  PAYCTL_OUTPUT        table, tsv, json, jsonl, env or name (flag: -o)
  PAYCTL_TIMEOUT       seconds to wait for one answer (flag: --timeout)
  PAYCTL_CONFIG_DIR    folder of contexts.json and credentials.json
  PAYCTL_SIMULATOR     address of the simulator (flag: --simulator)
  CI                   never ask questions (flag: --no-input)
  NO_COLOR FORCE_COLOR TERM=dumb   colours (flag: --color, which wins)

For each value a flag wins over the environment, the environment over the
context, the context over the default. payctl config explain shows the result.

The offline commands (bootstrap, server, keys, admin reset-password --offline)
read the configuration of the server: --config or PAY_CONFIG, and PAY_*.
`;

const EXIT_CODES = `Exit codes

    0  done
    1  failed: a rule of the server forbids it, or something is unhealthy
    2  usage: the command line cannot be carried out; also when a question
       would be needed and nobody can be asked
    3  not found
    4  not logged in
    5  forbidden: role, scope or network
    6  conflict: another state, exists already, in use
    7  try again: network, time-out, rate limit, database busy, server error
  130  cancelled

In JSON mode a failure is one object on stderr:
  { "error": { "code", "message", "status", "hint", "requestId", "exitCode" } }
`;

const OUTPUT = `Output

stdout is data and nothing else. Notices, questions, progress and errors go to
stderr.

  -o table    for people: cut to the width, relative times
  -o tsv      uncut, ISO times, no headings (--headers adds them); tabs and
              line breaks in a value are written as \\t and \\n
  -o json     get prints the bare object, list the bare array; fields are only
              ever added
  -o jsonl    one object on each line
  -o env      NAME=value lines that a shell can read
  -o name     noun/id
  -q          ids, one on each line
  --fields a,b   only these fields; dots reach inside (failure.code)

On a terminal the default is table, in a pipe tsv. A list that was cut says so
on stderr; --all fetches every page.
`;

const SECRETS = `Secrets

A secret is never a flag and never a variable of its own: arguments show in the
process list and in shell history.

  in    --password-stdin, --password-file F, --secret-file F, or a hidden
        question. One line break at the end is taken off; an empty secret is
        refused.
  out   app create and app rotate-secret show a secret once: in a box on a
        terminal, with --secret-file F (a new file, mode 0600, complete or not
        there), with -o json or with -o env. Without any of these nothing is
        created (exit 2).

Tokens are kept in credentials.json (0600, folder 0700) and are sent only to
the server that issued them. --debug shows no secret.
`;

const BOOTSTRAP = `Bootstrap

The first administrator and the first client are made on the machine of the
service, straight in its database. Access to the database is the authority;
there is no default account and no page for the first visitor.

  payctl bootstrap status
  payctl bootstrap admin --username alice
  payctl bootstrap app --name shop --scope payment:write,payment:read \\
    --secret-file shop.secret
  payctl server start
  payctl login --server http://127.0.0.1:8080 -u alice

On PostgreSQL this is safe beside a running server. The embedded database
belongs to one process: stop the server, bootstrap, start it (exit 7 names the
process that holds it). --if-none makes a command safe to repeat: exit 0 and
{ "changed": false } when it was done before. bootstrap apply -f does it all
from one file.
`;

/** The help topics, by name. */
export const TOPICS: Readonly<Record<string, string>> = {
  environment: ENVIRONMENT,
  'exit-codes': EXIT_CODES,
  output: OUTPUT,
  secrets: SECRETS,
  bootstrap: BOOTSTRAP,
};
