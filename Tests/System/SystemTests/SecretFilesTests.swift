// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import TestSupport
import Testing

/// Files with secrets, as an operator leaves them: open to others, or behind a pass phrase.
@Suite(.serialized) struct SecretFilesTests {
  private let folder = TemporaryFolder()

  @Test func `a settings file with a password and a database, both open to others, are warned of`()
    throws
  {
    let file = folder.file("broker.address")
    let broker = try BuiltProgram.start("martlet", ["broker", "--address-file", file], in: folder)
    let kafka = try #require(broker.announcement(in: file), "it printed: \(broker.output)")
    let (settings, database) = (folder.file("feedback.properties"), folder.file("tokens.db"))
    try File.write(settings, Array("kafka.ssl.key.password=secret-word\n".utf8), mode: 0o644)
    try File.write(database, [], mode: 0o644)
    let feedback = try BuiltProgram.start(
      "martlet-feedback", ["--kafka", kafka, "--config", settings, "--database", database],
      in: folder)
    for (warning, path) in [
      (ServiceKitLog.settingsExposed.rawValue, settings),
      (ServiceKitLog.databaseExposed.rawValue, database),
    ] {
      try #require(feedback.prints(warning), "\(feedback.output)")
      let line = feedback.output.split(separator: "\n").first { $0.contains(warning) } ?? ""
      #expect(line.contains("chmod 600 \(path)"), "\(line)")
    }
    #expect(!feedback.output.contains("secret-word"))
  }

  /// A PostgreSQL server that agrees to TLS and then says nothing: libpq reads the client's key before it goes on.
  private static let server = """
    import socket
    server = socket.create_server(("127.0.0.1", 0))
    print(f"port={server.getsockname()[1]};", flush=True)
    while True:
        client = server.accept()[0]
        client.recv(8)
        client.send(b"S")
        client.recv(1)
        client.close()
    """

  @Test(arguments: [nil, "right", "wrong"])
  func `a database's encrypted client key takes its pass phrase from the URL and asks nobody`(
    password: String?
  ) throws {
    let (certificate, key) = (folder.file("client.pem"), folder.file("client-key.pem"))
    let made = try BuiltProgram.run(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj",
        "/CN=feedback",
        "-passout", "pass:right", "-keyout", key, "-out", certificate,
      ], in: folder)
    try #require(made.status == 0, "\(made.output)")
    chmod(key, 0o600)
    let server = try BuiltProgram.start(
      path: "/usr/bin/env", ["python3", "-c", Self.server], in: folder)
    try #require(server.prints(";"), "\(server.output)")
    let port = server.output.prefix { $0 != ";" }.dropFirst("port=".count)
    let url =
      "postgresql://martlet@127.0.0.1:\(port)/tokens?sslmode=require&sslcert=\(certificate)&sslkey=\(key)"
      + (password.map { "&sslpassword=\($0)" } ?? "")
    // On a terminal of its own, where a question would wait for an answer.
    let command = "'\(ChildProcess.sibling("martlet"))' tokens list --database '\(url)'"
    let run = try BuiltProgram.run("/usr/bin/script", ["-qec", command, "/dev/null"], in: folder)
    #expect(run.status == 1, "\(run.output)")
    #expect(!run.output.contains("PEM pass phrase"))
    #expect(
      run.output.contains("could not load private key file") == (password != "right"),
      "\(run.output)")
  }
}
