// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import HTTPClient
import Kafka
import LabCommand
import ServiceKit
import TestSupport
import Testing

/// What a person at a terminal meets.
@Suite struct TerminalTests {
  @Test func `the end of the terminal ends a command, unless it was started with nohup`() throws {
    let folder = TemporaryFolder()
    let broker = try BuiltProgram.start("martlet", ["broker"], in: folder)
    try #require(broker.prints(ServiceKitLog.ready, withinMilliseconds: 30_000), "\(broker.output)")
    broker.signal(SIGHUP)
    #expect(broker.wait() == 0, "\(broker.output)")
    let kept = try BuiltProgram.start(
      path: "/usr/bin/nohup", [ChildProcess.sibling("martlet"), "broker"], in: folder)
    try #require(kept.prints(ServiceKitLog.ready, withinMilliseconds: 30_000), "\(kept.output)")
    kept.signal(SIGHUP)
    #expect(kept.wait(withinMilliseconds: 500) == nil, "\(kept.output)")
    #expect(kept.stop() == 0, "\(kept.output)")
  }

  @Test func `the end of the terminal ends a canary that was started on it`() throws {
    let folder = TemporaryFolder()
    let device = String(repeating: "ca", count: 32)
    let canary = try BuiltProgram.start(
      "martlet",
      ["canary", "--kafka", "127.0.0.1:1", "--canary", "com.example.app,production,\(device),2s"],
      in: folder)
    try #require(
      canary.prints(ServiceKitLog.statusPages, withinMilliseconds: 30_000), "\(canary.output)")
    canary.signal(SIGHUP)
    #expect(canary.wait(withinMilliseconds: 30_000) == 0, "\(canary.output)")
  }

  @Test func `Ctrl-C ends a demo with status 130, and is no error`() throws {
    let folder = TemporaryFolder()
    let demo = try BuiltProgram.start("martlet", ["demo", "--requests", "50000"], in: folder)
    try #require(demo.prints(LabLog.starting, withinMilliseconds: 30_000), "\(demo.output)")
    demo.signal(SIGINT)
    #expect(demo.wait() == 130, "\(demo.output)")
    #expect(demo.output.contains("interrupted: ") && !demo.output.contains(" error "))
  }

  @Test func `Ctrl-C is how --follow ends: no error, status 0`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)])
    let folder = TemporaryFolder()
    let inspect = try BuiltProgram.start(
      "martlet",
      [
        "inspect", "receipts", "--follow", "--topic-prefix", fixture.prefix, "--kafka",
        fixture.configuration.bootstrap,
      ], in: folder)
    try fixture.produce(fixture.name("receipts"), key: "k", value: #"{"outcome":"delivered"}"#)
    try #require(inspect.prints("delivered", withinMilliseconds: 30_000), "\(inspect.output)")
    inspect.signal(SIGINT)
    #expect(inspect.wait() == 0, "\(inspect.output)")
    #expect(!inspect.output.contains("error"), "\(inspect.output)")
  }

  @Test func `help COMMAND describes the command`() throws {
    let folder = TemporaryFolder()
    for command in ["up", "status"] {
      let run = try BuiltProgram.run(
        ChildProcess.sibling("martlet"), ["help", command], in: folder)
      #expect(run.status == 0 && run.output.contains("Usage: martlet \(command)"), "\(run.output)")
    }
    let none = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["help", "nothing"], in: folder)
    #expect(none.status == 2 && none.output.contains("there is no command nothing"))
  }

  /// The client of commands, and that of webhooks.
  @Test func `a server whose certificate has expired is called so`() throws {
    let folder = TemporaryFolder()
    let authority = try CertificateAuthority(name: "test")
    try File.write(folder.file("root.pem"), authority.certificatePEM)
    try authority.issueServer(validity: .expired).write(
      certificate: folder.file("server.pem"), key: folder.file("server-key.pem"))
    let port = try FreePort.find()
    let server = try BuiltProgram.start(
      path: try SystemProgram.path("openssl"),
      [
        "s_server", "-accept", "\(port)", "-cert", folder.file("server.pem"), "-key",
        folder.file("server-key.pem"), "-www",
      ], in: folder)
    defer { server.signal(SIGKILL) }
    try #require(server.prints("ACCEPT"), "\(server.output)")
    let url = "https://127.0.0.1:\(port)/"
    let error = #expect(throws: HTTPClientError.self) {
      try HTTPClient(roots: folder.file("root.pem")).get(url)
    }
    #expect(
      error?.description.contains("certificate has expired") == true, "\(String(describing: error))"
    )
    let wakeup = Wakeup()
    let poster = WebhookPoster(
      wakeup: wakeup.fd, connections: 1, allowsHTTP: false, roots: folder.file("root.pem"))
    poster.post(url, headers: [], body: [1], timeoutMilliseconds: 30_000, tag: 7)
    var answers: [WebhookPoster.Answer] = []
    expectEventually {
      answers += poster.wait(timeoutMilliseconds: 100)
      return !answers.isEmpty
    }
    #expect(answers.first?.problem.contains("certificate has expired") == true, "\(answers)")
  }
}
