const ENVIRONMENT = `Environment

  PAYCTL_CONTEXT       context to use (flag: -C)
  PAYCTL_SERVER        server URL to use (flag: --server)
  PAYCTL_TOKEN         access token; sent only to PAYCTL_SERVER
  PAYCTL_TOKEN_FILE    file with the access token
  PAYCTL_OUTPUT        table, tsv, json, jsonl, env or name (flag: -o)
  PAYCTL_TIMEOUT       seconds to wait for a response (flag: --timeout)
  PAYCTL_CONFIG_DIR    directory of contexts.json and credentials.json
  PAYCTL_SIMULATOR     URL of the simulator (flag: --simulator)
  PAYCTL_CLIENT_ID     application to act as; its secret is sent only to
                       PAYCTL_SERVER or --server; not with PAYCTL_TOKEN
  PAYCTL_CLIENT_SECRET        its secret
  PAYCTL_CLIENT_SECRET_FILE   file with its secret
  CI                   never prompt (flag: --no-input)
  NO_COLOR FORCE_COLOR TERM=dumb   color (flag: --color, which takes precedence)
  LC_ALL LC_MESSAGES LANG   the first that is set: with zh…, tables and notes of
                       bill, dispute, doctor, exception and explain are in
                       Chinese (flag: --lang zh or en); tsv, json, jsonl, env
                       and name never change
  NODE_EXTRA_CA_CERTS  PEM file of additional authorities (flag: --ca-file,
                       which login and context add store in the context)
  NODE_USE_ENV_PROXY=1 use HTTPS_PROXY, HTTP_PROXY and NO_PROXY; otherwise they
                       are ignored; connections to this machine use no proxy

A merchant needs only the credentials of an application: these variables, or
payctl login --client-id ID --client-secret-file F. payctl --help marks the
commands that work with them.

Precedence: flag, environment variable, context, default. To see the values in
use and their sources, run payctl config explain.

The offline commands (bootstrap, server, keys, and admin reset-password and
admin reset-second-factor with --offline) read the configuration of the
server: --config or PAY_CONFIG, and PAY_*.
`;

const EXIT_CODES = `Exit codes

    0  success
    1  failure: the server refused the request, or a check failed
    2  usage error: the command line is invalid, or input is missing and
       payctl cannot prompt for it
    3  not found
    4  not logged in
    5  forbidden: role, projects, scope, IP address, or the password must be
       confirmed
    6  conflict: wrong state, already exists, or in use
    7  temporary failure, retry: network, timeout, rate limit, database busy,
       server error
  130  cancelled

With -o json or jsonl, an error is one JSON object on stderr:
  { "error": { "code", "message", "status", "hint", "requestId", "exitCode" } }
`;

const OUTPUT = `Output

stdout carries data only. Notices, prompts, progress and errors go to stderr.

  -o table    fitted to the terminal width, with relative times
  -o tsv      tab-separated, never truncated, ISO 8601 times, no header row
              (--headers adds it); tabs and line breaks in a value are written
              as \\t and \\n
  -o json     get prints an object, list an array; fields are only ever added
  -o jsonl    one JSON object per line
  -o env      NAME=value lines that a shell can source
  -o name     noun/id, which commands accept in place of an id
  -q          ids only, one per line
  --fields a,b   only these fields; dots select nested ones (failure.code)

The default is table on a terminal and tsv in a pipe. If a list has more rows,
stderr shows a notice; --all fetches all pages.

If output cannot be written, for example on a full disk, payctl prints an error
on stderr and exits with 1; the error names a change that was already made. A
reader that closes the pipe early (| head) causes no error.
`;

const SECRETS = `Secrets

No flag takes a secret as its value, because arguments are visible in the
process list and in the shell history.

  in    --password-stdin, --password-file F, --secret-file F, or a hidden
        prompt. One trailing line break and the byte order mark (BOM) of
        Windows UTF-8 files are removed; UTF-16 and an empty secret are
        refused. Codes of a second factor: --code-stdin, --code-file F, or
        --code-secret-file F, which computes the code from the secret of the
        authenticator.
  out   app create and app rotate-secret show a secret only once: in a box on a
        terminal, with --secret-file F (a new file, mode 0600, written
        completely or not at all), with -o json or with -o env. Without any of
        these, nothing is created (exit 2). second-factor enable and
        recovery-codes do the same with recovery codes
        (--recovery-codes-file F). Space in a file is reserved before a secret
        is created. If the file still cannot be written, payctl exits with 1
        and names the command that creates another secret. app rotate-secret
        and app webhook rotate end the old secret only after the new secret was
        written.

Some changes require your own password again, and a code if you have a second
factor, if you entered them more than five minutes ago:
  - administrators and second factors
  - where channels may be live: channels, certificates, trusted applications,
    issued or widened credentials of applications, approvals, refunds and
    accepted amounts above Approval.RefundAbove, and coins above
    Approval.CoinsAbove
Without a terminal they fail with password_confirmation_required. Every change
accepts --password-file F, and --code-file F or --code-secret-file F. If
--password-file is the password of another account, use --own-password-file F
for your own.

Tokens are stored in credentials.json (mode 0600, directory 0700) and are sent
only to the server that issued them. The login of an application also stores its
secret there, to renew the token; payctl logout removes both. event listen keeps
its signing secrets in listen-secrets.json. Over plain HTTP, passwords, secrets
and tokens are sent only to this machine, unless --allow-http is given; a
context created with --allow-http stores it. Files and directories that other
users can change, and tokens that they can read, are refused. --debug redacts
secrets.
`;

const BOOTSTRAP = `Bootstrap

The first administrator and the first API application are created on the
machine of the service, directly in its database. Access to the database is the
authorization; there is no default account and no sign-up page.

  payctl bootstrap status
  payctl bootstrap admin --username alice --merchant-name "Blue Door"
  payctl bootstrap app --name shop --scope payment:write,payment:read \\
    --secret-file shop.secret
  payctl server start
  payctl login --server http://127.0.0.1:8080 -u alice

The merchant name is the name that payers see on the payment page: the name of
the project "default". bootstrap admin asks for it if it asks for the username
or the password; later, payctl project update default --name changes it.

With PostgreSQL this is safe while a server is running. The embedded database
allows one process at a time: stop the server, bootstrap, start it again (exit 7
names the process that is using it). --if-none makes a command idempotent: if
the account exists, it prints { "changed": false } and exits with 0. To do all
of it from one file, use bootstrap apply -f:

  [admin]
  username = "alice"
  password_file = "alice.password"

  [[project]]
  code = "default"
  name = "Blue Door"

  [[app]]
  name = "shop"
  scopes = ["payment:write", "payment:read"]
  secret_file = "shop.secret"
`;

export const TOPICS: Readonly<Record<string, string>> = {
  environment: ENVIRONMENT,
  'exit-codes': EXIT_CODES,
  output: OUTPUT,
  secrets: SECRETS,
  bootstrap: BOOTSTRAP,
};
