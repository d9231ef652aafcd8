// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// curl, nghttp and h2load push to the simulator.
@Suite(.serialized) struct CommandLineClientTests {
  private let folder = TemporaryFolder()
  private let body: String

  init() throws {
    body = folder.file("body.json")
    try File.write(body, Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
  }

  private func url(_ simulator: RunningSimulator, _ token: String) -> String {
    "https://localhost:\(simulator.port)/3/device/\(token)"
  }

  private var headers: [String] {
    ["-H", "apns-topic: \(RunningSimulator.app)", "-H", "apns-push-type: alert"]
  }

  private func authorization(_ simulator: RunningSimulator) throws -> [String] {
    ["-H", "authorization: bearer \(try simulator.keys.providerToken())"]
  }

  private func run(_ name: String, _ arguments: [String]) throws -> String {
    let result = try BuiltProgram.run(SystemProgram.path(name), arguments, in: folder)
    #expect(result.status == 0, "\(name) printed: \(result.output)")
    return result.output
  }

  /// What curl prints: the answer's head, its body, and a line `HTTP version, status`.
  private func curl(
    _ simulator: RunningSimulator, _ token: String, _ more: [String] = []
  ) throws -> String {
    try run(
      "curl",
      [
        "-sS", "-i", "--http2", "--noproxy", "*", "--cacert", simulator.keys.roots,
        "--data-binary", "@\(body)", "--write-out", "\nanswer %{http_version} %{http_code}\n",
        url(simulator, token),
      ] + headers + more)
  }

  @Test func `a client that offers HTTP/1.1 only completes the handshake and is dropped`() throws {
    let simulator = try RunningSimulator(in: folder, tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let result = try BuiltProgram.run(
      SystemProgram.path("curl"),
      [
        "-sS", "--http1.1", "--noproxy", "*", "--cacert", simulator.keys.roots,
        url(simulator, DeviceTokens.numbered(1)),
      ], in: folder)
    // 52: nothing was answered; 56: the connection ended while it waited. 35 would be a failed handshake.
    #expect([52, 56].contains(result.status), "\(result.status): \(result.output)")
  }

  @Test
  func `curl --http2 gets 200 and its apns-id back, 410 with the time, and 403 without a token`()
    throws
  {
    let simulator = try RunningSimulator(in: folder, tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let id = "0a1b2c3d-0000-4000-8000-00000000cafe"
    let taken = try curl(
      simulator, DeviceTokens.numbered(1), authorization(simulator) + ["-H", "apns-id: \(id)"])
    #expect(taken.contains("answer 2 200"), "\(taken)")
    #expect(taken.contains("apns-id: \(id)"), "\(taken)")

    let gone = try curl(simulator, DeviceTokens.unregistered, authorization(simulator))
    #expect(gone.contains("answer 2 410"), "\(gone)")
    #expect(gone.contains(#""reason":"Unregistered""#), "\(gone)")
    #expect(gone.contains(#""timestamp":\#(DeviceTokens.unregisteredSince)"#), "\(gone)")

    let strange = try curl(simulator, DeviceTokens.numbered(2))
    #expect(strange.contains("answer 2 403"), "\(strange)")
    #expect(strange.contains(#"{"reason":"MissingProviderToken"}"#), "\(strange)")
    #expect(try simulator.requests().map { $0["status"]?.int } == [200, 410, 403])
  }

  @Test func `nghttp sees 200 and the stream limit's rise, and 403 without a token`() throws {
    let simulator = try RunningSimulator(in: folder, tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let target = ["-v", "-d", body, url(simulator, DeviceTokens.numbered(1))] + headers
    let taken = try run("nghttp", target + authorization(simulator))
    #expect(taken.contains(":status: 200"), "\(taken)")
    let limits = taken.matches(of: #/recv SETTINGS[^;]*?MAX_CONCURRENT_STREAMS\(0x03\):(\d+)/#)
    #expect(limits.map { String($0.1) } == ["1", "1000"], "\(taken)")

    let refused = try run("nghttp", target)
    #expect(refused.contains(":status: 403"), "\(refused)")
    #expect(refused.contains("MissingProviderToken"), "\(refused)")
    #expect(try simulator.requests().map { $0["status"]?.int } == [200, 403])
  }

  @Test func `h2load: 20,000 pushes, 100 at once on each of 4 connections, all done`() throws {
    // h2load sends all at once before it knows the stream limit, and does not repeat what is refused.
    let simulator = try RunningSimulator(in: folder, ["--priming=false"])
    defer { simulator.stop() }
    let output = try run(
      "h2load",
      ["-n", "20000", "-c", "4", "-m", "100", "-d", body, url(simulator, DeviceTokens.numbered(1))]
        + headers + authorization(simulator))
    #expect(
      output.contains("20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(output)")
    #expect(output.contains("status codes: 20000 2xx,"), "\(output)")
    let counters = try simulator.counters()
    #expect(counters["accepted"]?.int == 20_000)
    #expect(counters["connections"]?.int == 4)
  }
}
