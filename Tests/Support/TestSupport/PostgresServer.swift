// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Synchronization

/// A real PostgreSQL server from Debian's package, with an empty cluster and a socket in a temporary folder. It stops
/// with this value or with the test process, however that ends.
public final class PostgresServer: @unchecked Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// One server for all tests that only need a database.
  private static let shared = Result { try PostgresServer() }

  /// Returns a new, empty database on the shared server.
  public static func database(_ name: String) throws -> String {
    try shared.get().newDatabase(name)
  }

  private let folder = TemporaryFolder()
  private let commands: UnsafeMutablePointer<FILE>
  private let answers: UnsafeMutablePointer<FILE>
  private let process: pid_t
  private let turn = Mutex(())

  public init() throws {
    let commandPipe = try ChildPipe.open()
    let answerPipe = try ChildPipe.open()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, commandPipe.output, 0)
    posix_spawn_file_actions_adddup2(&actions, answerPipe.input, 1)
    var arguments: [UnsafeMutablePointer<CChar>?] =
      ["bash", "-c", Self.script, "postgres", folder.path].map { strdup($0 as String) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/bin/bash", &actions, nil, &arguments, environ)
    close(commandPipe.output)
    close(answerPipe.input)
    guard code == 0, let commands = fdopen(commandPipe.input, "w"),
      let answers = fdopen(answerPipe.output, "r")
    else { throw Failure(description: "cannot start bash (\(code))") }
    (self.commands, self.answers, process) = (commands, answers, child)
    try expect("started")
  }

  deinit {
    // The script stops the server and deletes its files at the end of its input.
    fclose(commands)
    fclose(answers)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  /// Creates an empty database and returns its URL.
  public func newDatabase(_ name: String) throws -> String {
    try command("create \(name)")
    return "postgresql://martlet@/\(name)?host=\(folder.path)"
  }

  /// Starts PgBouncer in transaction mode in front of the server, with two connections per database, for which a client
  /// waits 3 seconds at most, and returns the URL of a database through it. Only once per server.
  public func pool(_ name: String) throws -> String {
    try command("pool")
    return "postgresql://martlet@/\(name)?host=\(folder.path)&port=6432"
  }

  /// Starts a hot standby of the server, and returns the URL of a database there. Only once per server.
  public func standby(_ name: String) throws -> String {
    try command("standby")
    return "postgresql://martlet@/\(name)?host=\(folder.path)&port=5433"
  }

  /// Makes transactions on the server read-only, or writable again, also on existing connections.
  public func setReadOnly(_ isReadOnly: Bool) throws { try command(isReadOnly ? "freeze" : "thaw") }

  /// Stops the server at once, like a crash: open transactions and connections are lost.
  public func kill() throws { try command("kill") }

  public func start() throws { try command("start") }

  private func command(_ text: String) throws {
    let verbs = [
      "create": "created", "kill": "killed", "start": "started", "pool": "pooled",
      "standby": "standing", "freeze": "frozen", "thaw": "thawed",
    ]
    // Concurrent tests share a server: each must read the response to its own command.
    try turn.withLock { _ in
      fputs(text + "\n", commands)
      fflush(commands)
      try expect(verbs[String(text.prefix { $0 != " " })] ?? "")
    }
  }

  /// Reads the script's response; there always is one, because the script has its own time limits.
  private func expect(_ word: String) throws {
    var line = [CChar](repeating: 0, count: 1_000)
    guard fgets(&line, Int32(line.count), answers) != nil else {
      throw Failure(description: "the PostgreSQL server's script ended; is postgresql installed?")
    }
    let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    guard text == word + "\n" else { throw Failure(description: "PostgreSQL: \(text)") }
  }

  /// PostgreSQL refuses to run as root, so root switches to the user of Debian's package.
  private static let script = """
    set -u
    folder=$1 as=()
    bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    [ -x "$bin/initdb" ] || { echo "there is no /usr/lib/postgresql/*/bin/initdb: install postgresql"; exit 1; }
    if [ "$(id -u)" = 0 ]; then
      chown postgres "$folder"
      as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    fi
    cd "$folder"
    run() { "${as[@]}" "$@" </dev/null >>"$folder/log" 2>&1; }
    begin() {
      run "$bin/pg_ctl" -D "$folder/data" -w -t 60 -l "$folder/server.log" -o "-k $folder -h ''" start
    }
    end() { run "$bin/pg_ctl" -D "$folder/data" -m immediate -w -t 60 stop; }
    pool() {
      printf '%s\\n' '[databases]' "* = host=$folder user=martlet" '[pgbouncer]' "unix_socket_dir = $folder" \
        'listen_addr =' 'listen_port = 6432' 'auth_type = any' 'pool_mode = transaction' \
        'default_pool_size = 2' 'query_wait_timeout = 3' "logfile = $folder/pgbouncer.log" \\
        "pidfile = $folder/pgbouncer.pid" > "$folder/pgbouncer.ini"
      run /usr/sbin/pgbouncer -d "$folder/pgbouncer.ini" || return
      # Its socket is there before it listens.
      for _ in $(seq 100); do
        run "$bin/psql" -h "$folder" -p 6432 -U martlet -d postgres -c 'SELECT 1' && return
        sleep 0.1
      done
      return 1
    }
    default() {
      run "$bin/psql" -h "$folder" -U martlet -d postgres -v ON_ERROR_STOP=1 \
        -c "ALTER SYSTEM SET default_transaction_read_only = $1" -c "SELECT pg_reload_conf()"
    }
    stand() {
      run "$bin/pg_basebackup" -h "$folder" -U martlet -D "$folder/standby" -R -X stream -c fast --no-sync &&
        run "$bin/pg_ctl" -D "$folder/standby" -w -t 60 -l "$folder/standby.log" \
          -o "-k $folder -h '' -p 5433" start
    }
    say() { if [ $1 = 0 ]; then echo "$2"; else echo "$2 failed: $(tail -n 3 "$folder/log" | tr '\\n' ' ')"; fi; }
    run touch "$folder/log"
    run "$bin/initdb" -D "$folder/data" -U martlet -A trust -E UTF8 --locale C.UTF-8 --no-sync
    run sh -c "printf 'fsync = off\\nmax_connections = 60\\n' >> '$folder/data/postgresql.conf'"
    begin; say $? started
    while read -r command name; do
      case $command in
        create) run "$bin/createdb" -h "$folder" -U martlet "$name"; say $? created ;;
        kill) end; say $? killed ;;
        start) begin; say $? started ;;
        pool) pool; say $? pooled ;;
        freeze) default on; say $? frozen ;;
        thaw) default off; say $? thawed ;;
        standby) stand; say $? standing ;;
      esac
    done
    # It has the signals blocked that the tests' program blocks.
    [ -f "$folder/pgbouncer.pid" ] && kill -KILL "$(cat "$folder/pgbouncer.pid")"
    [ -d "$folder/standby" ] && run "$bin/pg_ctl" -D "$folder/standby" -m immediate -w -t 60 stop
    end
    cd / && rm -rf "$folder"
    """
}
