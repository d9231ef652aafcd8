// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import ServiceKit
import TestSupport
import Testing

/// A client that nobody here wrote produces requests and reads what became of them.
@Suite(.serialized) struct KcatTests {
  /// The request in the README's first kcat command.
  private func readmeExample() throws -> String {
    let readme = try Repository.text("README.md")
    let command = readme.split(separator: "\n").first {
      $0.hasPrefix("echo '") && $0.contains("kcat -P")
    }
    let line = try #require(command, "the README has no kcat command")
    return String(line.dropFirst("echo '".count).prefix { $0 != "'" })
  }

  @Test
  func
    `the README's line leads to a delivered receipt in less than a second, a bad one to a dead letter`()
    throws
  {
    let folder = TemporaryFolder()
    let key = folder.file("token-key")
    try File.write(key, Array(String(repeating: "5a", count: 32).utf8))
    let pipeline = try RunningPipeline(in: folder, ["--token-key", key])
    defer { pipeline.stop() }
    let kcat = Kcat(kafka: pipeline.kafka, folder: folder)
    let example = try readmeExample()
    // The first one opens connections; the pipeline is idle when the second one comes.
    try kcat.produce([example.replacing("order-8812", with: "order-warm-up")])
    _ = try receipt(of: "order-warm-up", kcat)
    letPass(milliseconds: 500)
    // The quickest of three: another process on the machine may hold one of them up.
    let times = try ["order-8812", "order-8813", "order-8814"].map { id in
      try kcat.produce([example.replacing("order-8812", with: id)])
      let answered = try receipt(of: id, kcat)
      #expect(answered.receipt["outcome"]?.string == "delivered")
      return answered.time - (try requestTime(id, kcat))
    }
    #expect(times.contains { $0 < 1_000 }, "they took \(times) ms")

    let bad = example.replacing("order-8812", with: "order-bad")
      .replacing(#""priority":10"#, with: #""priority":"high""#)
    #expect(bad != example.replacing("order-8812", with: "order-bad"))
    try kcat.produce([bad])
    #expect(try receipt(of: "order-bad", kcat).receipt["outcome"]?.string == "dead_lettered")
    try expectDeadLetter(bad, field: "priority", kcat)
    // What was sent with is secret on its topic.
    let token = try #require(try kcat.read("push.provider-tokens", format: "%s\n").first)
    #expect(token.contains(#""sealed":"v1."#) && !token.contains("eyJ"))
  }

  /// The original record is on the dead letter topic, and its headers name the field.
  private func expectDeadLetter(_ request: String, field: String, _ kcat: Kcat) throws {
    let letters = try kcat.read("push.dead-letters", format: "%s\t%h\n")
    #expect(letters.count == 1)
    let parts = try #require(letters.first).split(separator: "\t")
    #expect(parts.first.map(String.init) == request)
    let headers = String(parts.last ?? "")
    #expect(headers.contains("martlet-reason=invalid_request"), "\(headers)")
    #expect(headers.contains("martlet-detail=\(field)"), "\(headers)")
  }

  /// The receipt of a request, and the timestamp of its record.
  private func receipt(of id: String, _ kcat: Kcat) throws -> (receipt: JSONValue, time: Int64) {
    var found: (JSONValue, Int64)?
    _ = try eventually(withinMilliseconds: 40_000, pauseMilliseconds: 100) {
      var time: Int64 = 0
      for line in try kcat.read("push.receipts", format: "%T %s\n") {
        var text = line
        if let space = line.firstIndex(of: " "), let stamp = Int64(line[..<space]) {
          time = stamp
          text = line[line.index(after: space)...]
        }
        guard let receipt = try? JSONDocument(String(text)).root else { continue }
        if receipt["id"]?.string == id { found = (receipt, time) }
      }
      return found != nil
    }
    return try #require(found, "there is no receipt of \(id)")
  }

  private func requestTime(_ id: String, _ kcat: Kcat) throws -> Int64 {
    let line = try #require(
      try kcat.read("push.requests", format: "%T %s\n").first { $0.contains("\"\(id)\"") })
    return try #require(Int64(line.prefix { $0 != " " }))
  }
}

/// A producer that nobody here wrote, on the broker of `martlet broker`.
@Suite struct KcatBacklogTests {
  /// 10 MB that cannot be compressed.
  private func lines() -> [String] {
    var random = SystemRandomNumberGenerator()
    return (0..<24_000).map { number in
      let words = (0..<32).map { _ in
        String(UInt64.random(in: 0 ... .max, using: &random), radix: 36)
      }
      return "\(number) " + words.joined()
    }
  }

  @Test func `what kcat writes while ingest is stopped waits for it, and all of it is read`() throws
  {
    let folder = TemporaryFolder()
    let address = folder.file("address")
    let broker = try BuiltProgram.start(
      "martlet", ["broker", "--address-file", address, "--partitions", "requests=1"], in: folder)
    let kafka = try #require(broker.announcement(in: address), "it printed: \(broker.output)")
    let ingest = try BuiltProgram.start(
      "martlet-ingest",
      // It stands still for as long as kcat takes, and must not lose its place: it would do some of it again.
      ["--kafka", kafka, "--kafka.consumer.session.timeout.ms", "60000"], in: folder)
    try #require(
      ingest.prints(ServiceKitLog.partitionsAssigned),
      "\(ingest.output)")
    ingest.signal(SIGSTOP)

    let file = folder.file("lines")
    try File.write(file, Array((lines().joined(separator: "\n") + "\n").utf8))
    let kcat = try BuiltProgram.start(
      path: SystemProgram.path("kcat"), ["-P", "-b", kafka, "-t", "push.requests", "-l", file],
      in: folder)
    #expect(kcat.wait() == 0, "kcat printed: \(kcat.output)")
    ingest.signal(SIGCONT)
    // None of them is a request: each becomes a dead letter.
    let reader = Kcat(kafka: kafka, folder: folder)
    try expectEventually(pauseMilliseconds: 500) {
      try reader.read("push.dead-letters", format: "x\n").count == 24_000
    }
    #expect(ingest.stop() == 0, "\(ingest.output)")
    #expect(broker.stop() == 0, "\(broker.output)")
  }
}
