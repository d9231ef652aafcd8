// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

/// A simulator in front of another one that plays the real gateway.
@Suite struct RelayTests {
  private static let token = String(repeating: "0a", count: 32)

  /// Both gateways, and a client of the first.
  private final class Rig {
    let real: RunningGateway
    let front: RunningGateway
    let folder = TemporaryFolder()

    init(port: UInt16? = nil) throws {
      real = try RunningGateway()
      let port = port ?? real.simulator.address.port
      front = try RunningGateway(flags: [
        "--in-front-of", "localhost:\(port)", "--in-front-of-root", real.rootPath, "--comparison",
        folder.file("lines"),
      ])
      // One key for both, as an account has.
      try front.declare(real.key)
    }

    func client() throws -> (GatewayClient, PushText) {
      let client = try GatewayClient(front)
      let token = try real.key.token(issuedAt: WallClock.seconds())
      return (client, client.push.with("authorization", "bearer " + token))
    }

    var text: String { get throws { try File.text(folder.file("lines")) } }

    /// The lines about requests.
    var lines: [JSONValue] {
      get throws {
        try text.split(separator: "\n").map { try JSONDocument(String($0)).root }
          .filter { $0["request"] != nil }
      }
    }
  }

  private static func names(_ line: JSONValue) -> [String] {
    (line["differences"]?.array ?? []).compactMap { $0["name"]?.string }
  }

  @Test func `the client gets the real gateway's answers, and equal ones are the same`() throws {
    let rig = try Rig()
    let (client, push) = try rig.client()
    #expect(try client.send(push).status == 200)
    #expect(try client.send(push.with("apns-id", nil)).status == 200)
    let refused = try client.send(push.with("apns-priority", "7"))
    #expect(refused.status == 400 && refused.body == #"{"reason":"BadPriority"}"#)
    #expect(try client.send(push.with("apns-push-type", "background")).status == 400)
    let lines = try rig.lines
    #expect(lines.count == 4)
    #expect(lines.allSatisfy { $0["same"]?.bool == true && Self.names($0).isEmpty })
    #expect(try rig.real.jsonLines("/requests").count == 4)
    #expect(lines[2]["real"]?["reason"]?.string == "BadPriority")
    #expect(lines[2]["real"]?["frames"]?.array?.compactMap(\.string) == ["HEADERS", "DATA"])
    #expect(try rig.text.contains(#""frame":"SETTINGS""#))
  }

  @Test(arguments: [
    (#"{"registry":"declared"}"#, ["status", "reason"]),
    (#"{"service":"unavailable"}"#, ["status", "reason"]),
    (#"{"date":"always"}"#, ["date"]),
    (#"{"checks":"credential"}"#, []),
  ])
  func `each changed behaviour is a named difference`(profile: String, names: [String]) throws {
    let rig = try Rig()
    _ = try rig.real.admin("PUT", "/profile", profile)
    let (client, push) = try rig.client()
    _ = try client.send(push)
    let line = try #require(try rig.lines.first)
    #expect(Self.names(line) == names)
    #expect(line["same"]?.bool == names.isEmpty)
  }

  @Test(arguments: [
    (#"[{"id":"stream_reset","codes":["CANCEL"]}]"#, ["ending"]),
    (#"[{"id":"any_answer","status":200,"apns_id":"missing"}]"#, ["apns-id"]),
    (#"[{"id":"any_answer","status":200,"retry_after":7}]"#, ["retry-after"]),
    (#"[{"id":"gone_timestamp"}]"#, ["status", "reason", "timestamp"]),
    (#"[{"id":"any_answer","status":200,"body":"ok"}]"#, ["body_bytes"]),
  ])
  func `each unusual answer is passed on and named`(faults: String, names: [String]) throws {
    let rig = try Rig()
    _ = try rig.real.admin("POST", "/faults", faults)
    let (client, push) = try rig.client()
    let answer = try client.send(push)
    let line = try #require(try rig.lines.first)
    #expect(Self.names(line) == names)
    #expect(line["real"]?["status"]?.int.map { $0 == Int64(answer.status) } ?? true)
  }

  @Test func `no line has a device token, a provider token, an id, a topic or a payload`() throws {
    let rig = try Rig()
    let (client, push) = try rig.client()
    let secret = "a-secret-of-the-payload"
    _ = try client.send(push.withText(#"{"aps":{"alert":"\#(secret)"}}"#))
    _ = try client.send(push.with("apns-topic", "com.example.app.voip"))
    let text = try rig.text
    #expect(try rig.lines.count == 2)
    for field in push.fields where field.value.utf8.count > 8 && field.name != ":authority" {
      #expect(!text.contains(field.value), "\(field.name)")
    }
    #expect(!text.contains(secret) && !text.contains("com.example"))
    #expect(!text.contains(push.fields[4].value.dropFirst(7).prefix(20)))
  }

  @Test func `many requests at once are all relayed within the real gateway's limit`() throws {
    let rig = try Rig()
    let (client, push) = try rig.client()
    #expect(try client.send(push).status == 200)
    try client.wait { (client.limits.last ?? 0) > 1 }
    let exchanges = client.begin(push.with("apns-id", nil), times: 200)
    try client.wait { exchanges.allSatisfy { $0.pointee.fate != .pending } }
    #expect(exchanges.allSatisfy { $0.pointee.status == 200 })
    #expect(try rig.lines.count { $0["same"]?.bool == true } == 201)
  }

  @Test func `after a GOAWAY the next request goes on another connection`() throws {
    let rig = try Rig()
    let (client, push) = try rig.client()
    #expect(try client.send(push).status == 200)
    _ = try rig.real.admin("POST", "/connections/all/goaway")
    let end = MonotonicClock.milliseconds() + 60_000
    while try !rig.text.contains("GOAWAY"), MonotonicClock.milliseconds() < end {
      try client.pass(milliseconds: 50)
    }
    #expect(try rig.text.contains(#""reason":"Shutdown""#))
    #expect(try client.send(push).status == 200)
  }

  @Test func `without the real gateway a request is reset, and the line says why`() throws {
    // Nobody listens at port 1.
    let rig = try Rig(port: 1)
    let (client, push) = try rig.client()
    let exchange = client.begin(push)
    try client.wait { exchange.pointee.fate != .pending }
    #expect(exchange.pointee.fate == .unprocessed)
    let line = try #require(try rig.lines.first)
    #expect(Self.names(line) == ["ending"])
    #expect(line["real"]?["why"]?.string?.isEmpty == false)
  }

  @Test(arguments: [
    (["--profile", "fast", "--in-front-of", "localhost:443"], "in-front-of"),
    (["--in-front-of", "localhost"], "in-front-of"),
    (["--in-front-of", "localhost:0"], "in-front-of"),
    (["--comparison", "/tmp/lines"], "comparison"),
    (["--in-front-of-root", "/etc/hostname"], "in-front-of-root"),
  ])
  func `wrong flags are refused by name`(flags: [String], name: String) {
    let error = #expect(throws: SettingErrors.self) { _ = try RunningGateway(flags: flags) }
    #expect(error.map { "\($0)".contains(name) } == true)
  }
}
