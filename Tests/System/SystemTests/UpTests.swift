// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPClient
import Records
import ServiceKit
import TestSupport
import Testing

/// `martlet up` as a newcomer runs it.
@Suite(.serialized) struct UpTests {
  private func start(_ folder: TemporaryFolder, _ flags: [String] = []) throws -> BuiltProgram {
    try BuiltProgram.start("martlet", ["up", "--dir", folder.file("up")] + flags, in: folder)
  }

  private func run(_ folder: TemporaryFolder, _ arguments: [String]) throws -> (
    status: Int32, output: String
  ) {
    try BuiltProgram.run(ChildProcess.sibling("martlet"), arguments, in: folder)
  }

  @Test func `up is ready when every process is, and prints each address`() throws {
    let folder = TemporaryFolder()
    let up = try start(folder, ["--senders", "2"])
    #expect(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    for name in ["signer", "ingest", "feedback", "sender-1", "sender-2"] {
      let log = try File.text(folder.file("up/logs/\(name).log"))
      #expect(log.contains(" \(ServiceKitLog.ready.rawValue)\n"), "\(name): \(log)")
    }
    let addresses = try JSONDocument(try File.read(folder.file("up/addresses.json"))).root
    for name in [
      "kafka", "gateway", "sandbox_gateway", "channels_gateway", "sandbox_channels_gateway",
      "gateway_admin",
    ] {
      let address = try #require(addresses[name]?.string)
      #expect(up.output.contains("\(name) ") && up.output.contains(address), "\(up.output)")
    }
    try statusPages(addresses, up)
    try api(addresses)
    try status(folder)
    try console(addresses)
    // One pipeline a folder.
    let second = try start(folder)
    #expect(second.wait() == 1)
    #expect(second.output.contains("(process \(up.pid)) uses"), "\(second.output)")
    #expect(File.exists(folder.file("up/addresses.json")))
    try channels(folder)
    #expect(up.stop() == 0, "\(up.output)")
    #expect(!File.exists(folder.file("up/addresses.json")))
  }

  /// A request over HTTP is answered when Kafka has it.
  private func api(_ addresses: JSONValue) throws {
    let url = try #require(addresses["api"]?.string)
    let key = try #require(addresses["api_key"]?.string)
    let request =
      #"{"app":"com.example.app","token":"\#(String(repeating: "0f", count: 32))","payload":{"aps":{"badge":1}}}"#
    let answer = try HTTPClient(timeoutMilliseconds: 30_000).post(
      url + "/v1/notifications", Array(request.utf8), headers: ["Authorization: Bearer \(key)"])
    #expect(answer.status == 202, "\(answer.text)")
    // A registration goes through Kafka and the database, and is told.
    let device = "\(url)/v1/devices/\(String(repeating: "0e", count: 32))"
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    let registered = try client.send(
      "PUT", device, Array(#"{"app":"com.example.app"}"#.utf8),
      headers: ["Authorization: Bearer \(key)"])
    #expect(registered.status == 202, "\(registered.text)")
    try expectEventually {
      let known = try client.send(
        "GET", device + "?app=com.example.app", nil, headers: ["Authorization: Bearer \(key)"])
      return known.status == 200 && known.text.contains(#""state":"registered""#)
    }
  }

  /// What its page is made of; ConsoleTests look at it in a browser.
  private func console(_ addresses: JSONValue) throws {
    let url = try #require(addresses["console"]?.string)
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    try expectEventually {
      try JSONDocument(try client.get(url + "/status.json").body).root["ready"]?.bool == true
    }
    let page = try client.get(url).text
    #expect(page.contains("console.js") && !page.contains("http://"), "nothing from outside")
  }

  private func status(_ folder: TemporaryFolder) throws {
    let file = folder.file("up/addresses.json")
    var shown: (status: Int32, output: String) = (-1, "")
    try expectEventually {
      shown = try run(folder, ["status", "--addresses", file])
      return shown.status == 0
    }
    for name in [
      "api", "broker", "feedback", "ingest", "scheduler", "sender-1", "sender-2", "signer",
      "simulator",
    ] {
      let words = shown.output.split(whereSeparator: \.isWhitespace)
      let next = words.firstIndex { $0 == name }.map { words[$0 + 1] }
      #expect(next == "ready", "\(name): \(shown.output)")
    }
    var root = JSONValue.null
    try expectEventually {
      let json = try run(folder, ["status", "--json", "--interval", "200ms", "--addresses", file])
      root = try JSONDocument(json.output).root
      return root["ready"]?.bool == true
    }
    #expect(root["processes"]?.array?.count == 9)
    let none = try run(folder, ["status", "http://127.0.0.1:1"])
    #expect(none.status == 1)
    #expect(none.output.contains("UNREACHABLE"), "\(none.output)")
  }

  private func statusPages(_ addresses: JSONValue, _ up: BuiltProgram) throws {
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    let pages = try #require(addresses["metrics"]?.object)
    let names = [
      "api", "broker", "feedback", "ingest", "scheduler", "sender-1", "sender-2", "signer",
      "simulator",
    ]
    #expect(pages.keys == names)
    for page in pages.members {
      let url = try #require(page.value.string)
      #expect(up.output.contains(url), "\(up.output)")
      for path in ["/readyz", "/healthz", "/metrics"] {
        var answer = ""
        let isWell = try eventually {
          let answered = try client.get(url + path)
          answer = answered.text
          return answered.status == 200
        }
        #expect(isWell, "\(page.key)\(path): \(answer)")
      }
      try expectMetrics(try client.get(url + "/metrics").text, of: page.key)
    }
  }

  /// What Prometheus' own tool finds right, and docs/reference/metrics.md lists.
  private func expectMetrics(_ page: String, of process: String) throws {
    #expect(page.contains("\nmartlet_ready 1\n"), "\(process)")
    let folder = TemporaryFolder()
    try File.write(folder.file("metrics"), Array(page.utf8))
    let promtool = try SystemProgram.promtool()
    let check = try BuiltProgram.run(
      "/bin/sh", ["-c", "\(promtool) check metrics < \(folder.file("metrics"))"], in: folder)
    #expect(check.status == 0 && check.output.isEmpty, "\(process): \(check.output)")
    let docs = try Repository.text("docs/reference/metrics.md")
    for line in page.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ")
      #expect(docs.contains("| `\(words[2])` |"), "\(process): \(line)")
    }
  }

  /// One file of settings serves both environments.
  private func channels(_ folder: TemporaryFolder) throws {
    let config = folder.file("up/channels.properties")
    for environment in ["production", "sandbox"] {
      let flags = [
        "--app", "com.example.app", "--config", config, "--environment", environment, "--json",
      ]
      let made = try run(folder, ["channels", "create"] + flags)
      #expect(made.status == 0, "\(made.output)")
      // The log has the deed.
      let answer = try #require(made.output.split(separator: "\n").last { $0.hasPrefix("{") })
      let id = try #require(try JSONDocument(String(answer)).root["channel"]?.string)
      let list = try run(folder, ["channels", "list"] + flags)
      #expect(try JSONDocument(list.output).root["channels"]?.array?.count == 1, "\(list.output)")
      #expect(list.output.contains(id.split(separator: "/").last ?? ""))
    }
  }

  @Test
  func `a second pipeline on the topics of one that works is refused, before it starts anything`()
    throws
  {
    let folder = TemporaryFolder()
    let first = try start(folder)
    #expect(
      first.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(first.output)")
    let addresses = try JSONDocument(try File.read(folder.file("up/addresses.json"))).root
    let kafka = try #require(addresses["kafka"]?.string)
    let second = try BuiltProgram.start(
      "martlet", ["up", "--dir", folder.file("other"), "--kafka", kafka], in: folder)
    #expect(second.wait() == 1, "\(second.output)")
    #expect(
      second.output.contains("another pipeline works on the topics push.* at \(kafka)"),
      "\(second.output)")
    #expect(!File.exists(folder.file("other")))
    // Nothing of the first one's has changed.
    #expect(first.stop() == 0, "\(first.output)")
  }

  @Test func `an idle broker can serve a new pipeline`() throws {
    let folder = TemporaryFolder()
    let file = folder.file("address")
    let prefix = ["--topic-prefix", "x."]
    let broker = try BuiltProgram.start(
      "martlet", ["broker", "--address-file", file] + prefix, in: folder)
    #expect(eventually { File.exists(file) })
    let kafka = try #require(try File.text(file).split(separator: "\n").first.map(String.init))
    let up = try start(folder, ["--kafka", kafka] + prefix)
    #expect(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    #expect(up.output.contains("receipts --follow --kafka \(kafka) --topic-prefix x.\n"))
    #expect(up.stop() == 0, "\(up.output)")
    _ = broker.stop()
  }

  @Test func `martlet names martlet-lab if it is missing`() throws {
    let folder = TemporaryFolder()
    let copied = try BuiltProgram.run(
      try SystemProgram.path("cp"), [ChildProcess.sibling("martlet"), folder.file("martlet")],
      in: folder)
    #expect(copied.status == 0, "\(copied.output)")
    let alone = try BuiltProgram.run(folder.file("martlet"), ["up", "--senders", "2"], in: folder)
    #expect(alone.status == 1)
    #expect(alone.output.contains("cannot run \(folder.file("martlet-lab"))"), "\(alone.output)")
    #expect(alone.output.contains("in the same folder as martlet"), "\(alone.output)")
    let help = try BuiltProgram.run(folder.file("martlet"), ["--help"], in: folder)
    #expect(help.status == 0 && help.output.contains("  up ") && help.output.contains("  inspect "))
  }
}
