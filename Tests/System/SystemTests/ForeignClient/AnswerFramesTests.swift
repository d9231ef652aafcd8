// SPDX-License-Identifier: Apache-2.0
import Records
import TestSupport
import Testing

/// The simulator's answers as they stand on the wire, beside published captures of APNs: read with hyperframe and hpack,
/// so that neither our encoder nor our decoder is asked.
@Suite(.serialized) struct AnswerFramesTests {
  private func frames(
    _ simulator: RunningSimulator, _ requests: [String], _ flags: [String] = [],
    in folder: TemporaryFolder
  ) throws -> [JSONValue] {
    let result = try PythonScript.run(
      "read_gateway_frames.py",
      ["--port", "\(simulator.port)", "--roots", simulator.keys.roots]
        + requests.flatMap { ["--request", $0] } + flags, in: folder)
    #expect(result.status == 0, "\(result.output)")
    return result.objects
  }

  private func names(_ frame: JSONValue) -> [String?] {
    (frame["fields"]?.array ?? []).map { $0.array?.first?.string }
  }

  private func field(_ frame: JSONValue, _ name: String) -> String? {
    (frame["fields"]?.array ?? []).first { $0.array?.first?.string == name }?.array?.last?.string
  }

  private func push(_ simulator: RunningSimulator, _ more: String = "") throws -> String {
    "POST /3/device/x apns-topic=com.example.app apns-push-type=alert authorization=bearer+"
      + "\(try simulator.keys.providerToken())\(more)"
  }

  /// As many bytes as the digits of the id make it in Huffman's code: 37 in the captures.
  @Test func `a refusal is :status and apns-id, some 37 bytes, and a reason, 27 bytes`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let frames = try frames(simulator, [push(simulator)], in: folder)
    try #require(frames.map { $0["frame"]?.string } == ["Headers", "Data"], "\(frames)")
    #expect(names(frames[0]) == [":status", "apns-id"])
    #expect((35...39).contains(frames[0]["bytes"]?.int ?? 0), "\(frames[0])")
    #expect(frames[1]["bytes"]?.int == 27)
    #expect(frames[1]["text"]?.string == #"{"reason":"BadDeviceToken"}"#)
  }

  @Test func `without a credential the method counts before it, and it before the path`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let frames = try frames(simulator, ["GET /3/device/", "POST /3/device/"], in: folder)
    let statuses = frames.compactMap { field($0, ":status") }
    #expect(statuses == ["405", "403"])
    #expect(
      frames.compactMap { $0["text"]?.string } == [
        #"{"reason":"MethodNotAllowed"}"#, #"{"reason":"MissingProviderToken"}"#,
      ])
  }

  @Test func `any 128 bits are an apns-id, and come back in lower case`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let id = "FFFFFFFF-FFFF-FFFF-FFFF-0000000000AB"
    let frames = try frames(simulator, [push(simulator, " apns-id=\(id)")], in: folder)
    #expect(frames.first.flatMap { field($0, "apns-id") }?.lowercased() == id.lowercased())
    #expect(frames.last?["text"]?.string == #"{"reason":"BadDeviceToken"}"#)
  }

  @Test func `a stream above the limit is reset with 7 and then 5, or the connection ends with 7`()
    throws
  {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder, ["--latency", "300ms"])
    defer { simulator.stop() }
    // A new connection has one stream.
    let requests = try (0..<2).map { _ in try push(simulator) }
    let seen = try frames(simulator, requests, ["--together", "--late"], in: folder)
    let resets = seen.filter { $0["frame"]?.string == "RstStream" }
    #expect(resets.map { $0["code"]?.int } == [7, 5])
    #expect(resets.allSatisfy { $0["stream"]?.int == 3 })
    #expect(!seen.contains { $0["frame"]?.string == "GoAway" })

    let old = try RunningSimulator(
      in: TemporaryFolder(), ["--latency", "300ms", "--stream-above-limit", "goaway"])
    defer { old.stop() }
    let ended = try frames(old, try (0..<2).map { _ in try push(old) }, ["--together"], in: folder)
    let farewell = ended.filter { $0["frame"]?.string == "GoAway" }
    #expect(farewell.map { $0["code"]?.int } == [7])
    #expect(farewell.first?["text"]?.string?.contains("active streams") == true)
  }

  @Test func `a GOAWAY that comes twice is JSON, then empty, then the end`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(
      in: folder, ["--goaway-form", "twice", "--error-limit", "1"])
    defer { simulator.stop() }
    let requests = try (0..<3).map { _ in try push(simulator) }
    let seen = try frames(simulator, requests, in: folder)
    let farewells = seen.filter { $0["frame"]?.string == "GoAway" }
    #expect(farewells.map { $0["text"]?.string?.first } == ["{", nil], "\(seen)")
    #expect(!farewells.contains { $0["code"]?.int == 1 })
    #expect(seen.last?["frame"]?.string == "END")
  }

  @Test func `ALPN without h2 completes the handshake and ends`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let seen = try frames(simulator, [], ["--alpn", "http/1.1"], in: folder)
    #expect(seen.map { $0["frame"]?.string } == ["END"])
  }
}
