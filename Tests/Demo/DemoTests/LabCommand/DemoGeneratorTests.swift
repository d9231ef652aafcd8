// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records
import ServiceKit
import Testing

@Suite struct DemoGeneratorTests {
  private func lines(seed: UInt64, _ count: Int) -> [String] {
    var generator = DemoGenerator(seed: seed, requests: count)
    return (0..<count).map { _ in generator.next() }
  }

  @Test func `the same seed makes the same requests, another seed others`() {
    #expect(lines(seed: 7, 500) == lines(seed: 7, 500))
    #expect(lines(seed: 7, 500) != lines(seed: 8, 500))
  }

  @Test func `an input that is not there ends the demo before it starts anything`() {
    #expect(
      ServiceRunner.run(DemoCommand.self, program: "demo", ["--input", "/nonexistent/requests"])
        == ServiceRunner.misconfigured)
  }

  @Test func `the mixture is what the demo promises`() {
    let all = lines(seed: 1, 4_000)
    let reader = RequestReader()
    var (refused, background, bulk, expired, apps) = (0, 0, 0, 0, Set<String>())
    var oversize = 0
    for line in all {
      var text = line
      text.withUTF8 { bytes in
        guard let request = try? reader.read(UnsafeRawBufferPointer(bytes)) else {
          refused += 1
          if bytes.count > 5_000 { oversize += 1 }
          return
        }
        apps.insert(String(decoding: request.app, as: UTF8.self))
        if request.type == .background { background += 1 }
        if request.lane == .bulk { bulk += 1 }
        if let expiration = request.expiration, 1..<1_700_000_000 ~= expiration { expired += 1 }
      }
    }
    #expect(apps.count == 4)
    #expect((10...70).contains(refused - oversize))
    #expect((8...40).contains(oversize))
    #expect((8...40).contains(expired))
    #expect((600...1_000).contains(background))
    #expect((200...440).contains(bulk))
    #expect((20...80).contains(all.count - Set(all).count))
  }

  @Test func `two of a hundred devices are unregistered and are sent to`() {
    let generator = DemoGenerator(seed: 1, requests: 4_000)
    let gone = generator.unregistered
    #expect(gone.count == 80)
    #expect(Set(gone.map(\.token)).count == 80)
    let text = lines(seed: 1, 4_000).joined(separator: "\n")
    #expect(gone.filter { text.contains($0.token) }.count > 60)
  }
}

@Suite struct RequestLineTests {
  private func ids(_ text: String) -> [NotificationID] {
    var text = text
    return text.withUTF8 {
      RequestLine.ids(
        UnsafeRawBufferPointer($0), topic: "push.requests", partition: 3, offset: 42,
        parser: JSONParser())
    }
  }

  @Test func `each token is one notification, its case does not matter`() {
    let head = #"{"app":"a.b","id":"x","payload":{},"#
    #expect(ids(head + #""token":"ABCD"}"#) == ids(head + #""token":"abcd"}"#))
    #expect(ids(head + #""tokens":["ab","cd"]}"#).count == 2)
    #expect(ids(head + #""tokens":["ab","cd"]}"#)[0] == ids(head + #""token":"ab"}"#)[0])
  }

  @Test func `the id is the UUIDv5 of the published rule`() {
    let id = RequestLine.derive(app: "a.b", environment: "production", id: "x", token: "ab")
    // python3: uuid.uuid5(uuid.UUID("6d617274-6c65-5470-b573-680000000001"), "a.b\0production\0x\0ab")
    #expect(id.description == "18402734-7717-5d80-af1f-57fff393d724")
  }

  @Test func `without an id the record's place stands for it`() {
    let place = RequestLine.derive(
      app: "a.b", environment: "sandbox", id: "push.requests/3/42", token: "ab")
    #expect(ids(#"{"app":"a.b","environment":"sandbox","token":"ab","payload":{}}"#) == [place])
  }

  @Test func `an own apns-id is taken as it is, and a text without any names none`() {
    let own = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    #expect(ids(#"{"app":"a","token":"ab","apns_id":"\#(own)"}"#).map(\.description) == [own])
    #expect(ids("not JSON").isEmpty)
    #expect(ids(#"{"app":"a"}"#).isEmpty)
    #expect(ids(#"{"token":"ab"}"#).isEmpty)
  }
}
